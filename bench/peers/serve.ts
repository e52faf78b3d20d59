import { answerJobs } from '../job-process.ts';
import type { BenchClient } from '../requests.ts';

/** What a peer is told before it starts. */
export interface PeerSetup {
  port: number;
  origin: string;
  clients: readonly BenchClient[];
  /** For the bare server: the answer to every request. */
  answer: object;
}

/** Lets a peer's process start when it has been told with what. */
export function serve(start: (setup: PeerSetup) => Promise<void>): void {
  answerJobs(async (setup: PeerSetup) => {
    await start(setup);
    return { isListening: true };
  });
}

/** The audience, scopes and lifetime of the peers' tokens, as Signet's have them. */
export const tokenShape = (origin: string) => ({
  audience: origin,
  scope: 'read write',
  lifetimeSeconds: 3600,
});

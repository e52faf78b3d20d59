import { availableParallelism } from 'node:os';

/** What every server that is measured finds in its environment: the caller's, but for settings, and production. */
export const serverEnv = (): Record<string, string | undefined> => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('SIGNET_'))),
  NODE_ENV: 'production',
});

/** Signet sizes its own thread pool like this; the peers, which leave it to their operator, get the same. */
export const THREAD_POOL = { UV_THREADPOOL_SIZE: String(Math.max(4, availableParallelism() + 2)) };

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

/** A process of this benchmark that does one job after the other, so that it shares no thread with what it measures. */
export interface JobProcess<Job, Outcome> {
  pid: number;
  run(job: Job): Promise<Outcome>;
  stop(): Promise<void>;
}

export interface JobProcessOptions {
  /** The core that it stays on, by `taskset`; undefined for any. */
  core?: number | undefined;
  env?: Record<string, string>;
}

type Reply<Outcome> = { outcome: Outcome } | { error: string };

export function startJobProcess<Job extends object, Outcome>(
  script: URL,
  { core, env = {} }: JobProcessOptions = {},
): JobProcess<Job, Outcome> {
  const command = [process.execPath, script.pathname];
  const [file = '', ...rest] = core === undefined ? command : ['taskset', '-c', String(core), ...command];
  const child = spawn(file, rest, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  return {
    pid: child.pid ?? 0,
    run: (job) => ask<Outcome>(child, job, script),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill();
      await once(child, 'exit');
    },
  };
}

function ask<Outcome>(child: ChildProcess, job: object, script: URL): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const onExit = () => reject(new Error(`${script.pathname} ended.`));
    child.once('exit', onExit);
    child.once('message', (reply: Reply<Outcome>) => {
      child.off('exit', onExit);
      if ('error' in reply) reject(new Error(reply.error));
      else resolve(reply.outcome);
    });
    child.send(job);
  });
}

/** The other end: what such a process does with each job. It ends with the one that started it. */
export function answerJobs<Job, Outcome>(run: (job: Job) => Outcome | Promise<Outcome>): void {
  process.on('disconnect', () => process.exit());
  process.on('message', async (job: Job) => {
    try {
      process.send?.({ outcome: await run(job) });
    } catch (error) {
      process.send?.({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  });
}

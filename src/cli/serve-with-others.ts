import cluster from 'node:cluster';
import type { Config } from '../config.ts';
import { createLog } from '../log.ts';
import { MetricsExchange } from '../processes/metrics-exchange.ts';
import { StartFailed, Supervisor } from '../processes/supervisor.ts';
import { SupervisorLink } from '../processes/supervisor-link.ts';
import { forkWorker } from '../processes/worker-process.ts';
import type { Service } from '../service.ts';
import type { CommandDeps } from './command.ts';
import { greeting } from './greeting.ts';
import { onStopSignals, stopProcess } from './stop.ts';

/** Longer than any timer of a stop that lets clients leave by themselves. */
const LEAVE_MILLISECONDS = 19_000;
const DAY_MILLISECONDS = 86_400_000;

/** Several processes on one port: this one supervises the others, or is one of them. */
export async function serveWithOthers(deps: CommandDeps, config: Config): Promise<void> {
  await (cluster.isPrimary ? supervise(deps, config) : serveSupervised(config));
}

async function supervise({ clock, stdout, stderr }: CommandDeps, config: Config): Promise<void> {
  const supervisor = new Supervisor({
    clock,
    log: createLog(config),
    size: config.processes,
    fork: () => forkWorker(sharedSettings(config)),
    exchange: new MetricsExchange({ clock }),
  });
  onStopSignals(() => stopProcess(async () => process.exit((await supervisor.stop()) ? 0 : 1)));
  process.on('SIGHUP', () => supervisor.replaceAll());
  try {
    const administrator = await supervisor.start();
    // With all workers gone, nothing else would keep this process until the next one is due.
    setInterval(() => {}, DAY_MILLISECONDS);
    stdout.write(greeting(config, administrator));
  } catch (error) {
    if (!(error instanceof StartFailed)) throw error;
    await supervisor.stop();
    // A worker that ended by itself has said why.
    const { signal } = error.end;
    if (signal !== null) stderr.write(`A process ended by ${signal} before the service listened.\n`);
    process.exit(1);
  }
}

/** What a worker must not read anew from a `.env` that has changed: the port is one, and so is the number. */
const sharedSettings = ({ host, port, processes }: Config): Record<string, string> => ({
  SIGNET_HOST: host,
  SIGNET_PORT: String(port),
  SIGNET_PROCESSES: String(processes),
});

async function serveSupervised(config: Config): Promise<void> {
  // It comes to the whole group of processes where a terminal closes; the supervisor decides what follows.
  process.on('SIGHUP', () => {});
  let service: Service | null = null;
  const stop = (options: { isLeaving: boolean }) =>
    stopProcess(
      async () => {
        await service?.stop(options);
        await link.sayGoodbye();
      },
      options.isLeaving ? LEAVE_MILLISECONDS : undefined,
    );
  const link = new SupervisorLink(stop);
  const { createService } = await import('../service.ts');
  service = await createService(config, { allMetrics: () => link.allMetrics() });
  onStopSignals(() => stop({ isLeaving: false }));
  await service.start();
  await link.serves(service);
}

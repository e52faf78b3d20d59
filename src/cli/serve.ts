import type { Config } from '../config.ts';
import { createLog } from '../log.ts';
import type { CommandDeps } from './command.ts';
import { greeting } from './greeting.ts';
import { onStopSignals, stopProcess } from './stop.ts';

/**
 * Resolves once the service listens; a signal ends the process. What serves is loaded only where it serves: the process
 * that supervises others stays small.
 */
export async function serve(deps: CommandDeps): Promise<void> {
  const config = deps.loadConfig();
  if (config.processes === 1) return serveAlone(deps, config);
  const { serveWithOthers } = await import('./serve-with-others.ts');
  return serveWithOthers(deps, config);
}

async function serveAlone({ stdout }: CommandDeps, config: Config): Promise<void> {
  const log = createLog(config);
  process.on('SIGHUP', () => log.info('SIGHUP is ignored: there is one process, and nobody to replace it'));
  const { createService } = await import('../service.ts');
  const service = await createService(config, { log });
  onStopSignals(() => stopProcess(() => service.stop()));
  await service.start();
  stdout.write(greeting(config, service.administrator));
}

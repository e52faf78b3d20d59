import { runCommandLine } from './cli/program.ts';
import { systemClock } from './clock.ts';
import { loadConfig } from './config.ts';
import { createIds } from './ids.ts';

await main();

async function main(): Promise<void> {
  // What is made in the data folder is for this user alone, also where the folder was there before.
  process.umask(0o077);
  const { argv, stdin, stdout, stderr } = process;
  const deps = { loadConfig, clock: systemClock, ids: createIds(systemClock), stdin, stdout, stderr };
  const exitCode = await runCommandLine(deps, argv.slice(2));
  if (exitCode !== 0) process.exit(exitCode);
}

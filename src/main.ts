import { depsOfProcess } from './cli/command.ts';
import { runCommandLine } from './cli/program.ts';

await main();

async function main(): Promise<void> {
  // What is made in the data folder is for this user alone, also where the folder was there before.
  process.umask(0o077);
  const exitCode = await runCommandLine(depsOfProcess(), process.argv.slice(2));
  if (exitCode !== 0) process.exit(exitCode);
}

import { spawnSync } from 'node:child_process';

/** What an npm command prints on standard output; empty where there is no npm. */
export function askNpm(given: readonly string[]): string {
  // On Windows npm is a script of its shell.
  const isScript = process.platform === 'win32';
  return spawnSync('npm', given, { encoding: 'utf8', shell: isScript, maxBuffer: 2 ** 28 }).stdout ?? '';
}

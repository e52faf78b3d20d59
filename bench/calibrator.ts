import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { startJobProcess } from './job-process.ts';
import type { Minted, MintJob } from './mint.ts';

/** What this machine can mint at this moment, with nothing else to do: the unit of the other figures. */
export interface Calibrator {
  /** Whether each process is held on its own core. */
  isPinned: boolean;
  cores: number;
  measure(milliseconds: number): Promise<Calibration>;
  stop(): Promise<void>;
}

export interface Calibration {
  /** JWTs a second of all cores together: C. */
  perSecond: number;
  /** What one of them takes on its core. */
  millisecondsEach: number;
}

/** One minting process for each core, making JWTs like `token`. */
export function startCalibrator(token: string): Calibrator {
  const isPinned = spawnSync('taskset', ['-V']).status === 0;
  const cores = usableCores();
  const script = new URL('./mint.ts', import.meta.url);
  const minters = cores.map((core) =>
    startJobProcess<MintJob, Minted>(script, { core: isPinned ? core : undefined }),
  );
  const like = { header: decodeProtectedHeader(token), claims: decodeJwt(token) };
  return {
    isPinned,
    cores: cores.length,
    async measure(milliseconds) {
      const minted = await Promise.all(minters.map((minter) => minter.run({ milliseconds, ...like })));
      const perSecond = minted.reduce((sum, each) => sum + each.perSecond, 0);
      return { perSecond, millisecondsEach: (1000 * cores.length) / perSecond };
    },
    async stop() {
      await Promise.all(minters.map((minter) => minter.stop()));
    },
  };
}

/** Runs something between two calibrations: the mean of both is what the machine could do meanwhile. */
export async function bracketed<T>(
  calibrator: Calibrator,
  milliseconds: number,
  run: () => Promise<T>,
): Promise<{ outcome: T; calibration: Calibration }> {
  const before = await calibrator.measure(milliseconds);
  const outcome = await run();
  return { outcome, calibration: mean(before, await calibrator.measure(milliseconds)) };
}

export const mean = (before: Calibration, after: Calibration): Calibration => ({
  perSecond: (before.perSecond + after.perSecond) / 2,
  millisecondsEach: (before.millisecondsEach + after.millisecondsEach) / 2,
});

/** Those that the operating system lets this process use, by number. */
function usableCores(): number[] {
  const numbers = Array.from({ length: availableParallelism() }, (_, index) => index);
  if (process.platform !== 'linux') return numbers;
  const list = /^Cpus_allowed_list:\s*(\S+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '';
  const allowed = list.split(',').flatMap((part) => {
    const [first = 0, last = first] = part.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
  return allowed.slice(0, numbers.length);
}

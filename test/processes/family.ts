import { execFileSync } from 'node:child_process';

interface Member {
  pid: number;
  parent: number;
}

/** The living; one that is ended and that nobody has waited for yet is none. */
function living(): Member[] {
  return execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , state]) => state?.startsWith('Z') === false)
    .map(([pid, parent]) => ({ pid: Number(pid), parent: Number(parent) }));
}

/** The living children of a process, the oldest first. */
export const childrenOf = (pid: number): number[] =>
  living()
    .filter(({ parent }) => parent === pid)
    .map((child) => child.pid)
    .toSorted((a, b) => a - b);

export const isAlive = (pid: number): boolean => living().some((member) => member.pid === pid);

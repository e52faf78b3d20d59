import { availableParallelism, cpus } from 'node:os';

export interface Row {
  name: string;
  figures: readonly number[];
  unit: string;
}

/** The machine, and a line for each figure with its median and spread. */
export function printTable(title: string, rows: readonly Row[]): void {
  const machine = `${availableParallelism()} × ${cpus()[0]?.model ?? 'unknown'}`;
  console.log(`${title}\nNode ${process.versions.node}, ${machine}\n`);
  console.log('| what | median | least | most |\n|---|---|---|---|');
  for (const { name, figures, unit } of rows) {
    const sorted = figures.toSorted((a, b) => a - b);
    const cells = [quantile(sorted, 0.5), sorted[0], sorted.at(-1)].map((figure) =>
      format(figure ?? 0, unit),
    );
    console.log(`| ${name} | ${cells.join(' | ')} |`);
  }
}

/** Of figures in order. */
export const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;

const format = (figure: number, unit: string): string =>
  `${figure >= 100 ? Math.round(figure) : figure.toFixed(2)}${unit === '' ? '' : ` ${unit}`}`;

import { quantile } from './table.ts';

/** A figure, each time that it was taken. */
export interface Measure {
  name: string;
  unit: '' | '×' | 'ms' | 'µs' | 'MB';
  figures: readonly number[];
  /** What the service means to reach, where it means to reach something. */
  aim?: Aim;
}

export type Aim = { atLeast: number } | { atMost: number };

export interface Summary {
  median: number;
  least: number;
  lowerQuartile: number;
  upperQuartile: number;
  most: number;
}

export function summarize(figures: readonly number[]): Summary {
  const sorted = figures.toSorted((a, b) => a - b);
  return {
    median: medianOf(figures),
    least: sorted[0] ?? 0,
    lowerQuartile: quantile(sorted, 0.25),
    upperQuartile: quantile(sorted, 0.75),
    most: sorted.at(-1) ?? 0,
  };
}

export function medianOf(figures: readonly number[]): number {
  const sorted = figures.toSorted((a, b) => a - b);
  const middle = sorted.slice(Math.ceil(sorted.length / 2) - 1, Math.floor(sorted.length / 2) + 1);
  return middle.reduce((sum, figure) => sum + figure, 0) / Math.max(1, middle.length);
}

/** A measure that reads one figure from each sample. */
export const from =
  <Sample>(samples: readonly Sample[]) =>
  (name: string, unit: Measure['unit'], read: (sample: Sample) => number, aim?: Aim): Measure => ({
    name,
    unit,
    figures: samples.map(read),
    ...(aim !== undefined && { aim }),
  });

/** Runs something once for each sample, in order. */
export async function sampled<Sample>(
  count: number,
  take: (index: number) => Promise<Sample>,
): Promise<Sample[]> {
  const samples: Sample[] = [];
  for (let index = 0; index < count; index++) samples.push(await take(index));
  return samples;
}

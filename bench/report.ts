import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { type Aim, type Measure, summarize } from './measure.ts';
import type { BenchOptions } from './options.ts';
import { packageVersion, tokenPeers } from './peers/peer.ts';

export interface Section {
  name: string;
  measures: readonly Measure[];
}

export interface Report {
  takenAt: string;
  machine: Record<string, string | number | boolean>;
  versions: Record<string, string>;
  options: Pick<BenchOptions, 'samples' | 'milliseconds' | 'connections' | 'memoryTokens'>;
  sections: readonly Section[];
}

export function createReport(
  options: BenchOptions,
  { isPinned, sections }: { isPinned: boolean; sections: readonly Section[] },
): Report {
  const { samples, milliseconds, connections, memoryTokens } = options;
  const packages = ['fastify', 'undici', ...Object.values(tokenPeers).map((peer) => peer.package)];
  return {
    takenAt: new Date().toISOString(),
    machine: {
      system: `${process.platform} ${release()} ${process.arch}`,
      processor: cpus()[0]?.model ?? 'unknown',
      cores: availableParallelism(),
      memoryGigabytes: Math.round(totalmem() / 1e9),
      isCalibratorPinned: isPinned,
    },
    versions: {
      node: process.versions.node,
      sqlite: process.versions['sqlite'] ?? '',
      openssl: process.versions.openssl ?? '',
      ...Object.fromEntries(packages.map((name) => [name, packageVersion(name)])),
    },
    options: { samples, milliseconds, connections, memoryTokens },
    sections,
  };
}

/** The machine and the hour, which absolute figures are of. */
export const machineLine = (): string =>
  `${availableParallelism()} × ${cpus()[0]?.model ?? 'unknown'}, ${Math.round(totalmem() / 1e9)} GB, Node ${process.versions.node}, ${new Date().toISOString()}.`;

/** Replaces what was measured last. */
export function writeReport(folder: string, report: Report): void {
  mkdirSync(folder, { recursive: true });
  const sections = report.sections.map(({ name, measures }) => ({
    name,
    measures: measures.map((measure) => ({ ...measure, ...summarize(measure.figures) })),
  }));
  writeFileSync(join(folder, 'latest.json'), `${JSON.stringify({ ...report, sections }, null, 2)}\n`);
  writeFileSync(join(folder, 'latest.md'), toMarkdown(report));
}

export function toMarkdown({ takenAt, machine, versions, options, sections }: Report): string {
  const { samples, milliseconds, connections } = options;
  return [
    '# Benchmark',
    '',
    `${machine['cores']} × ${machine['processor']}, ${machine['memoryGigabytes']} GB, ${machine['system']}, ${takenAt}.`,
    `${samples} samples of ${milliseconds / 1000} s, ${connections} connections on loopback, load on the same cores.`,
    machine['isCalibratorPinned']
      ? 'C is pinned, one process a core.'
      : 'C is not pinned: there is no taskset.',
    Object.entries(versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(', '),
    ...sections.flatMap(({ name, measures }) => ['', `## ${name}`, '', ...toTable(measures)]),
    '',
  ].join('\n');
}

export const toTable = (measures: readonly Measure[]): string[] => [
  '| what | median | quartiles | least | most | aim |',
  '|---|---:|---:|---:|---:|---:|',
  ...measures.map(toRow),
];

function toRow({ name, unit, figures, aim }: Measure): string {
  const { median, least, lowerQuartile, upperQuartile, most } = summarize(figures);
  const quartiles = `${format(lowerQuartile)}–${format(upperQuartile)}`;
  const cells = [`${format(median)} ${unit}`.trim(), quartiles, format(least), format(most)];
  return `| ${name} | ${cells.join(' | ')} | ${aim === undefined ? '' : formatAim(aim)} |`;
}

const formatAim = (aim: Aim): string => ('atLeast' in aim ? `≥ ${aim.atLeast}` : `≤ ${aim.atMost}`);

const format = (figure: number): string => (figure >= 100 ? String(Math.round(figure)) : figure.toFixed(2));

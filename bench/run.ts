import { type Bench, databaseName, startBench } from './bench.ts';
import { measureColdStart } from './cold-start.ts';
import { measureIntrospections } from './introspections.ts';
import type { Measure } from './measure.ts';
import { measureMemory } from './memory.ts';
import { type BenchOptions, readOptions, type SectionName } from './options.ts';
import { printProfiles } from './profile.ts';
import { createReport, type Section, toMarkdown, writeReport } from './report.ts';
import { measureCosts } from './request-costs.ts';
import { measureSaturation } from './saturation.ts';
import { withFolder } from './signet.ts';
import { measureLatency } from './token-latency.ts';
import { measureTokens } from './tokens.ts';

/** Everything that is measured, one database after the other; the peers run beside the first. */

/** On a service that stays up between them. */
const shared: readonly [SectionName, (bench: Bench) => Promise<Measure[]>][] = [
  ['tokens', measureTokens],
  ['introspections', measureIntrospections],
  ['saturation', measureSaturation],
  ['costs', measureCosts],
  ['latency', measureLatency],
];

async function main(): Promise<void> {
  const options = readOptions();
  if (options.isProfile) return printProfiles(options);
  const sections: Section[] = [];
  let isPinned = true;
  for (const [index, database] of options.databases.entries()) {
    const own = index === 0 ? options : { ...options, peers: [] };
    isPinned = (await measureShared(database, own, sections)) && isPinned;
    await measureAlone(database, own, sections);
  }
  const report = createReport(options, { isPinned, sections });
  writeReport(options.folder, report);
  console.log(toMarkdown(report));
}

/** Answers whether the calibrator could be pinned. */
async function measureShared(database: string, options: BenchOptions, sections: Section[]): Promise<boolean> {
  return withFolder(async (folder) => {
    const bench = await startBench(options, { database, folder });
    try {
      for (const [name, measure] of shared) {
        await add(sections, { name, database, options }, () => measure(bench));
      }
      return bench.calibrator.isPinned;
    } finally {
      await bench.stop();
    }
  });
}

/** On services of their own. */
async function measureAlone(database: string, options: BenchOptions, sections: Section[]): Promise<void> {
  const { samples } = options;
  await add(sections, { name: 'start', database, options }, () => measureColdStart(database, samples));
  await add(sections, { name: 'memory', database, options }, () => measureMemory(database, options));
}

async function add(
  sections: Section[],
  { name, database, options }: { name: SectionName; database: string; options: BenchOptions },
  measure: () => Promise<Measure[]>,
): Promise<void> {
  if (!options.only.includes(name)) return;
  const started = performance.now();
  const measures = await measure();
  sections.push({ name: `${name}, ${databaseName(database)}`, measures });
  console.error(`${name}, ${databaseName(database)}: ${Math.round((performance.now() - started) / 1000)} s`);
}

await main();

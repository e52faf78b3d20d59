import { type Bench, startBench } from './bench.ts';
import { measureColdStart } from './cold-start.ts';
import { measureIntrospections } from './introspections.ts';
import type { Measure } from './measure.ts';
import { measureMemory } from './memory.ts';
import { type BenchOptions, readOptions, type SectionName } from './options.ts';
import type { Contestant } from './peers/peer.ts';
import { printProfiles } from './profile.ts';
import { createReport, type Section, toMarkdown, writeReport } from './report.ts';
import { measureCosts } from './request-costs.ts';
import { measureSaturation } from './saturation.ts';
import { type SignetOptions, withFolder } from './signet.ts';
import { measureLatency } from './token-latency.ts';
import { measureTokens } from './tokens.ts';

/** Everything that is measured, one database after the other; the peers run beside the first. */

const together: readonly [SectionName, (bench: Bench) => Promise<Measure[]>][] = [
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
    await withFolder(async (folder) => {
      const place = { database, folder };
      const { signet, calibrator } = await measureTogether(place, own, sections);
      await measureAlone(place, signet, own, sections);
      isPinned &&= calibrator.isPinned;
    });
  }
  const report = createReport(options, { isPinned, sections });
  writeReport(options.folder, report);
  console.log(toMarkdown(report));
}

/** On one service that stays up. */
async function measureTogether(
  place: SignetOptions,
  options: BenchOptions,
  sections: Section[],
): Promise<Bench> {
  const bench = await startBench(options, place);
  try {
    for (const [name, measure] of together) {
      await add(sections, { name, options, signet: bench.signet }, () => measure(bench));
    }
    return bench;
  } finally {
    await bench.stop();
  }
}

/** On services of their own, and the database that is there now. */
async function measureAlone(
  place: SignetOptions,
  signet: Contestant,
  options: BenchOptions,
  sections: Section[],
): Promise<void> {
  const start = () => measureColdStart(place, signet, options.samples);
  await add(sections, { name: 'start', options, signet }, start);
  await add(sections, { name: 'memory', options, signet }, () => measureMemory(place, signet, options));
}

async function add(
  sections: Section[],
  { name, options, signet }: { name: SectionName; options: BenchOptions; signet: Contestant },
  measure: () => Promise<Measure[]>,
): Promise<void> {
  if (!options.only.includes(name)) return;
  const started = performance.now();
  const measures = await measure();
  sections.push({ name: `${name}: ${signet.name}`, measures });
  console.error(`${name}: ${signet.name}, ${Math.round((performance.now() - started) / 1000)} s`);
}

await main();

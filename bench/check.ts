import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { endlessTokens, loadFrom, startLoad, toContestant } from './bench.ts';
import { from, type Measure, medianOf, sampled, summarize } from './measure.ts';
import type { Contestant } from './peers/peer.ts';
import { introspection } from './requests.ts';
import { type Signet, startSignet, withFolder } from './signet.ts';

/**
 * Whether one commit is slower than another: both run side by side and are loaded in turn, and what counts is the
 * median of the ratios of neighbours. Ends with 1 where the later one has lost more than a tenth on either path.
 */

const usage = `node bench/check.ts BASE [HEAD]

  BASE, HEAD       commits, branches or tags; HEAD is the last commit where it is left out
  --samples 12     pairs
  --seconds 2      how long each half of a pair asks for tokens; they are introspected afterwards`;

const CONNECTIONS = 16;
const LEAST_RATIO = 0.9;

interface Rates {
  tokens: number;
  introspections: number;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { samples: { type: 'string', default: '12' }, seconds: { type: 'string', default: '2' } },
  });
  const [base, head = 'HEAD'] = positionals;
  if (base === undefined || positionals.length > 2) {
    console.error(usage);
    process.exitCode = 2;
    return;
  }
  const size = { samples: Number(values.samples), milliseconds: Number(values.seconds) * 1000 };
  const pairs = await withFolder((folder) => compare({ base, head, folder }, size));
  process.exitCode = report(pairs, `${nameOf(head)} over ${nameOf(base)}`) ? 0 : 1;
}

async function compare(
  { base, head, folder }: { base: string; head: string; folder: string },
  { samples, milliseconds }: { samples: number; milliseconds: number },
): Promise<{ base: Rates; head: Rates }[]> {
  const services: Signet[] = [];
  const load = startLoad();
  try {
    for (const [name, commit] of Object.entries({ base, head })) {
      services.push(await startCommit(commit, join(folder, name)));
    }
    const [before, after] = await Promise.all(services.map((service) => toContestant(service, '')));
    if (before === undefined || after === undefined) throw new Error('Two services were to be started.');
    const measure = (contestant: Contestant) => measureRates(load, contestant, milliseconds);
    await measure(before);
    await measure(after);
    return await sampled(samples, (index) => takePair(measure, { before, after }, index));
  } finally {
    await Promise.all([load.stop(), ...services.map((service) => service.stop())]);
  }
}

/** Which of the two comes first changes from pair to pair. */
async function takePair(
  measure: (contestant: Contestant) => Promise<Rates>,
  { before, after }: { before: Contestant; after: Contestant },
  index: number,
) {
  if (index % 2 === 0) return { base: await measure(before), head: await measure(after) };
  const head = await measure(after);
  return { base: await measure(before), head };
}

async function measureRates(
  process: ReturnType<typeof startLoad>,
  contestant: Contestant,
  milliseconds: number,
): Promise<Rates> {
  const load = loadFrom(process, { connections: CONNECTIONS });
  const tokens = await load(contestant, { ...endlessTokens(contestant), milliseconds });
  const requests = tokens.accessTokens.map(introspection);
  const introspections = await load(contestant, { requests, expects: 'active' });
  return { tokens: tokens.perSecond, introspections: introspections.perSecond };
}

/** The commit's files in a folder of their own, with the packages of this checkout. */
async function startCommit(commit: string, folder: string): Promise<Signet> {
  const [root, data] = [join(folder, 'checkout'), join(folder, 'run')];
  for (const path of [root, data]) mkdirSync(path, { recursive: true });
  const archive = git('archive', '--format=tar', commit);
  execFileSync('tar', ['-x', '-C', root], { input: archive });
  symlinkSync(join(here, 'node_modules'), join(root, 'node_modules'));
  return startSignet({ database: 'sqlite', folder: data, root });
}

const here = join(import.meta.dirname, '..');

const git = (...given: string[]): Buffer =>
  execFileSync('git', ['-C', here, ...given], { maxBuffer: 256 * 1024 * 1024 });

const nameOf = (commit: string): string => git('rev-parse', '--short', commit).toString().trim();

/** Prints both paths and answers whether neither has become slower than is allowed. */
function report(pairs: readonly { base: Rates; head: Rates }[], title: string): boolean {
  const measure = from(pairs);
  const measures = [
    measure('tokens/s', '×', ({ base, head }) => head.tokens / base.tokens),
    measure('introspections/s', '×', ({ base, head }) => head.introspections / base.introspections),
  ];
  console.log(`${title}, ${pairs.length} pairs, at least ${LEAST_RATIO} is right\n`);
  for (const each of measures) console.log(toLine(each));
  return measures.every(({ figures }) => medianOf(figures) >= LEAST_RATIO);
}

function toLine({ name, figures }: Measure): string {
  const { median, lowerQuartile, upperQuartile } = summarize(figures);
  const [middle, lower, upper] = [median, lowerQuartile, upperQuartile].map((figure) => figure.toFixed(3));
  return `${median >= LEAST_RATIO ? 'ok    ' : 'SLOWER'} ${name}: ${middle} (quartiles ${lower}–${upper})`;
}

await main();

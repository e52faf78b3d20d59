import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { endlessTokens, type Loaded, loadFrom, startLoad, toContestant } from './bench.ts';
import { from, type Measure, medianOf, sampled, summarize } from './measure.ts';
import type { Contestant } from './peers/peer.ts';
import { introspection } from './requests.ts';
import { type Signet, startSignet, withFolder } from './signet.ts';

/**
 * Whether one commit is slower than another: both run side by side and are loaded in turn, and what counts is the
 * median of the ratios of neighbours. Ends with 1 where the later one has lost more than a tenth on either path, in
 * requests a second or in CPU time per request.
 */

const usage = `node bench/check.ts BASE [HEAD]

  BASE, HEAD       commits, branches or tags; HEAD is the last commit where it is left out
  --samples 24     pairs
  --seconds 1      how long each half of a pair asks for tokens; they are introspected afterwards`;

const CONNECTIONS = 16;
const LEAST_RATIO = 0.9;

interface Half {
  tokens: Loaded;
  introspections: Loaded;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { samples: { type: 'string', default: '24' }, seconds: { type: 'string', default: '1' } },
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
): Promise<{ base: Half; head: Half }[]> {
  const services: Signet[] = [];
  const load = startLoad();
  try {
    for (const [name, commit] of Object.entries({ base, head })) {
      services.push(await startCommit(commit, join(folder, name)));
    }
    const [before, after] = await Promise.all(services.map((service) => toContestant(service, '')));
    if (before === undefined || after === undefined) throw new Error('Two services were to be started.');
    const measure = (contestant: Contestant) => measureHalf(load, contestant, milliseconds);
    await measure(before);
    await measure(after);
    return await sampled(samples, (index) => takePair(measure, { before, after }, index));
  } finally {
    await Promise.all([load.stop(), ...services.map((service) => service.stop())]);
  }
}

/** Which of the two comes first changes from pair to pair. */
async function takePair(
  measure: (contestant: Contestant) => Promise<Half>,
  { before, after }: { before: Contestant; after: Contestant },
  index: number,
) {
  if (index % 2 === 0) return { base: await measure(before), head: await measure(after) };
  const head = await measure(after);
  return { base: await measure(before), head };
}

async function measureHalf(
  process: ReturnType<typeof startLoad>,
  contestant: Contestant,
  milliseconds: number,
): Promise<Half> {
  const load = loadFrom(process, { connections: CONNECTIONS });
  const tokens = await load(contestant, { ...endlessTokens(contestant), milliseconds });
  const requests = tokens.accessTokens.map(introspection);
  const introspections = await load(contestant, { requests, expects: 'active' });
  return { tokens, introspections };
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
function report(pairs: readonly { base: Half; head: Half }[], title: string): boolean {
  const measures = (['tokens', 'introspections'] as const).flatMap((path) => toMeasures(pairs, path));
  console.log(`${title}, ${pairs.length} pairs, at least ${LEAST_RATIO} is right\n`);
  for (const each of measures) console.log(toLine(each));
  return measures.every(({ figures }) => medianOf(figures) >= LEAST_RATIO);
}

/** Above 1 the later one is faster. CPU time hardly depends on what else the machine does; the rate is what counts. */
function toMeasures(pairs: readonly { base: Half; head: Half }[], path: keyof Half): Measure[] {
  const measure = from(pairs);
  const rate = measure(`${path}/s`, '×', ({ base, head }) => head[path].perSecond / base[path].perSecond);
  if (process.platform !== 'linux') return [rate];
  const cost = ({ usage, count }: Loaded) => (usage?.all ?? Number.NaN) / count;
  return [rate, measure(`CPU of ${path}`, '×', ({ base, head }) => cost(base[path]) / cost(head[path]))];
}

function toLine({ name, figures }: Measure): string {
  const { median, lowerQuartile, upperQuartile } = summarize(figures);
  const [middle, lower, upper] = [median, lowerQuartile, upperQuartile].map((figure) => figure.toFixed(3));
  return `${median >= LEAST_RATIO ? 'ok    ' : 'SLOWER'} ${name}: ${middle} (quartiles ${lower}–${upper})`;
}

await main();

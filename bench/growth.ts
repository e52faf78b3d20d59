import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type PostgresServer, startPostgres } from './growth/postgres-server.ts';
import type { FillSize } from './growth/rows.ts';
import {
  type Cost,
  postgresPlace,
  type Side,
  type SideSample,
  sqlitePlace,
  startSide,
} from './growth/side.ts';
import { printSizes } from './growth/table-sizes.ts';
import { from, type Measure, sampled } from './measure.ts';
import { machineLine, toTable } from './report.ts';
import { withFolder } from './signet.ts';

/**
 * What the size of the database costs a request: two services side by side, one with few agents and one with many,
 * loaded one after the other. The rows are written by SQL, as the service would have written them, and what is used of
 * them is spread over all of them.
 */

const { values: options } = parseArgs({
  options: {
    databases: { type: 'string', default: 'sqlite,postgres' },
    small: { type: 'string', default: '1000' },
    large: { type: 'string', default: '1000000' },
    'refresh-tokens': { type: 'string', default: '5' },
    history: { type: 'string', default: '200000' },
    'in-use': { type: 'string', default: '1000' },
    samples: { type: 'string', default: '10' },
    seconds: { type: 'string', default: '1.5' },
    connections: { type: 'string', default: '16' },
    rate: { type: 'string', default: '100' },
    calm: { type: 'string', default: '6' },
    refreshes: { type: 'string', default: '500' },
    folder: { type: 'string', default: new URL('./results', import.meta.url).pathname },
    help: { type: 'boolean', default: false },
  },
});

const usage = `node bench/growth.ts [options]

  --databases sqlite,postgres  PostgreSQL is a server of the benchmark's own
  --small 1000                 agents on the one side
  --large 1000000              agents on the other side
  --refresh-tokens 5           living refresh tokens for each agent
  --history 200000             on the large side: revocations, and events with a delivery and an attempt
  --in-use 1000                how many agents, and how many refresh tokens, are used, each as often as the others
  --samples 10                 how often each figure is taken
  --seconds 1.5                how long a sample takes
  --connections 16
  --rate 100                   tokens a second where latency is measured
  --calm 6                     how many seconds of them a sample has: a p99 wants hundreds
  --refreshes 500              in a sample
  --folder PATH                where growth.md is written; default bench/results`;

/** No slower than this, the large one over the small one. */
const MOST = 1.15;

interface Pair {
  small: SideSample;
  large: SideSample;
}

async function main(): Promise<void> {
  if (options.help) return console.log(usage);
  const pages = [
    `# Growth\n\n${machineLine()}\n${options.samples} pairs of samples, ${options['in-use']} agents in use.`,
  ];
  for (const database of options.databases.split(',')) {
    const server = database === 'postgres' ? await startPostgres() : null;
    try {
      pages.push(await withFolder((small) => withFolder((large) => measure({ small, large }, server))));
    } finally {
      await server?.stop();
    }
  }
  mkdirSync(options.folder, { recursive: true });
  writeFileSync(join(options.folder, 'growth.md'), `${pages.join('\n\n')}\n`);
  console.log(pages.join('\n\n'));
}

async function measure(
  folders: { small: string; large: string },
  server: PostgresServer | null,
): Promise<string> {
  const name = server === null ? 'SQLite' : 'PostgreSQL';
  const [small, large] = [
    await start(folders.small, server, { name: 'small', agents: Number(options.small) }),
    await start(folders.large, server, { name: 'large', agents: Number(options.large) }),
  ];
  try {
    console.error(`${name}: filled in ${Math.round(large.fillSeconds)} s`);
    await takePair({ small, large }, 0);
    const pairs = await sampled(Number(options.samples), (index) => takePair({ small, large }, index));
    return [
      `## ${name}: ${options.large} agents beside ${options.small}`,
      `Filled in ${Math.round(large.fillSeconds)} s.`,
      toTable(measuresOf(pairs, server !== null)).join('\n'),
      printSizes(name, large.sizes),
    ].join('\n\n');
  } finally {
    await Promise.all([small.stop(), large.stop()]);
  }
}

async function start(
  folder: string,
  server: PostgresServer | null,
  { name, agents }: { name: string; agents: number },
): Promise<Side> {
  const place = server === null ? sqlitePlace(folder) : await postgresPlace(folder, server, name);
  const size: FillSize = {
    agents,
    refreshTokens: agents * Number(options['refresh-tokens']),
    history: name === 'large' ? Number(options.history) : 0,
    known: Number(options['in-use']),
  };
  return startSide(place, size, {
    milliseconds: Number(options.seconds) * 1000,
    connections: Number(options.connections),
    perSecond: Number(options.rate),
    calmMilliseconds: Number(options.calm) * 1000,
    refreshes: Number(options.refreshes),
  });
}

/** The two begin in turn. */
async function takePair(sides: { small: Side; large: Side }, index: number): Promise<Pair> {
  if (index % 2 === 0) return { small: await sides.small.take(), large: await sides.large.take() };
  const large = await sides.large.take();
  return { small: await sides.small.take(), large };
}

function measuresOf(pairs: readonly Pair[], hasServer: boolean): Measure[] {
  const loads: readonly [string, (sample: SideSample) => Cost][] = [
    ['tokens', (sample) => sample.tokens],
    ['introspections', (sample) => sample.introspections],
    ['refreshes', (sample) => sample.refreshes],
  ];
  return [
    ...loads.flatMap(([name, of]) => [
      ...compared(pairs, `${name}/s`, '', (sample) => of(sample).perSecond),
      ...compared(pairs, `${name}: p50`, 'ms', (sample) => of(sample).p50),
      ...compared(pairs, `${name}: p99`, 'ms', (sample) => of(sample).p99),
      ...compared(pairs, `${name}: CPU of the service`, 'µs', (sample) => of(sample).service),
      ...(hasServer
        ? compared(pairs, `${name}: CPU of the server`, 'µs', (sample) => of(sample).server)
        : []),
    ]),
    ...compared(pairs, `tokens at ${options.rate}/s: p50`, 'ms', (sample) => sample.calm.p50),
    ...compared(pairs, `tokens at ${options.rate}/s: p99`, 'ms', (sample) => sample.calm.p99),
  ];
}

/** Both sides, and the ratio within each pair: above 1 the large one is slower. */
function compared(
  pairs: readonly Pair[],
  name: string,
  unit: Measure['unit'],
  read: (sample: SideSample) => number,
): Measure[] {
  const measure = from(pairs);
  const ratio = ({ small, large }: Pair) =>
    name.endsWith('/s') ? read(small) / read(large) : read(large) / read(small);
  return [
    measure(`${name}, small`, unit, ({ small }) => read(small)),
    measure(`${name}, large`, unit, ({ large }) => read(large)),
    measure(`${name}: times slower, large`, '×', ratio, { atMost: MOST }),
  ];
}

await main();

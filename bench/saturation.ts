import { type Bench, endlessTokens } from './bench.ts';
import { from, type Measure, sampled } from './measure.ts';
import { introspection } from './requests.ts';

const INTROSPECTIONS_PER_SECOND = 200;
const CONNECTIONS = 4;

/** How long introspections take while all connections ask for tokens: they come on a schedule, each token once. */
export async function measureSaturation(bench: Bench): Promise<Measure[]> {
  const samples = await sampled(bench.options.samples, () => takeSample(bench));
  const measure = from(samples);
  const { name } = bench.signet;
  return [
    measure(`${name}: introspection beside saturated tokens, p50`, 'ms', ({ p50 }) => p50),
    measure(`${name}: introspection beside saturated tokens, p99`, 'ms', ({ p99 }) => p99, { atMost: 10 }),
    measure(`${name}: tokens/s meanwhile`, '', ({ tokensPerSecond }) => tokensPerSecond),
  ];
}

async function takeSample({ signet, options, mint, load, probe }: Bench) {
  const { milliseconds } = options;
  const tokens = await mint(Math.ceil((INTROSPECTIONS_PER_SECOND * milliseconds) / 1000));
  const schedule = { perSecond: INTROSPECTIONS_PER_SECOND, connections: CONNECTIONS, milliseconds };
  const [saturating, { p50, p99 }] = await Promise.all([
    load(signet, { ...endlessTokens(signet), milliseconds }),
    probe(signet, { requests: tokens.map(introspection), expects: 'active', ...schedule }),
  ]);
  return { p50, p99, tokensPerSecond: saturating.perSecond };
}

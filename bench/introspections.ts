import { type Bench, type Loaded, WITHOUT_END } from './bench.ts';
import { from, type Measure, sampled } from './measure.ts';
import { type Contestant, startBareServer } from './peers/peer.ts';
import { introspection } from './requests.ts';

interface Sample {
  /** The bare server's rate, before and after. */
  bare: number;
  introspections: Loaded;
}

/** Introspections of living tokens, each once and never seen before, beside a server that only reads and answers. */
export async function measureIntrospections(bench: Bench): Promise<Measure[]> {
  const bareServer = await startBareServer(await anAnswer(bench));
  try {
    await takeSample(bench, bareServer);
    const samples = await sampled(bench.options.samples, () => takeSample(bench, bareServer));
    const measure = from(samples);
    const { name } = bench.signet;
    return [
      measure('bare Fastify: POSTs/s', '', ({ bare }) => bare),
      measure(`${name}: introspections/s`, '', ({ introspections }) => introspections.perSecond),
      measure(
        `${name}: introspections/s over bare Fastify`,
        '×',
        ({ bare, introspections }) => introspections.perSecond / bare,
        { atLeast: bench.aims.introspectionsOverBare },
      ),
      measure(`${name}: p50`, 'ms', ({ introspections }) => introspections.p50),
      measure(`${name}: p99`, 'ms', ({ introspections }) => introspections.p99),
      measure(`${name}: main thread per introspection`, 'µs', ({ introspections }) =>
        mainEach(introspections),
      ),
    ];
  } finally {
    await bareServer.stop();
  }
}

async function takeSample(bench: Bench, bareServer: Contestant): Promise<Sample> {
  const tokens = await bench.mint(tokensPerSample(bench));
  const requests = tokens.map(introspection);
  const job = { requests, expects: 'active', milliseconds: WITHOUT_END };
  const before = await bench.load(bareServer, job);
  const introspections = await bench.load(bench.signet, job);
  const after = await bench.load(bareServer, job);
  return { bare: (before.perSecond + after.perSecond) / 2, introspections };
}

/** About as many as are introspected in a third of a sample's time: minting them takes longer than that. */
const tokensPerSample = ({ options }: Bench): number => Math.ceil(options.milliseconds * 2);

/** What the bare server is to answer: the very bytes that Signet does. */
async function anAnswer({ signet, mint }: Bench): Promise<object> {
  const [token = ''] = await mint(1);
  const { path, ...init } = introspection(token);
  return (await (await fetch(signet.origin + path, init)).json()) as object;
}

const mainEach = ({ usage, count }: Loaded): number => (usage?.main ?? Number.NaN) / count;

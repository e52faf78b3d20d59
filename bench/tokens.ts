import { type Bench, endlessTokens, type Loaded } from './bench.ts';
import type { Calibration } from './calibrator.ts';
import { type Commits, commitsSince, readCommits } from './commits.ts';
import { from, type Measure, medianOf, sampled } from './measure.ts';
import { type Contestant, startTokenPeer } from './peers/peer.ts';
import type { BenchClient } from './requests.ts';
import { verifyTokens } from './verify-tokens.ts';

interface TokenSample extends Loaded {
  calibration: Calibration;
  /** Of Signet alone. */
  commits: Commits | null;
}

/** Tokens a second, Signet and its peers in turn, each sample between two of C; every token is verified. */
export async function measureTokens(bench: Bench): Promise<Measure[]> {
  const peers = await Promise.all(bench.options.peers.map((name) => startTokenPeer(name, peerClients())));
  try {
    const contestants = [bench.signet, ...peers];
    for (const contestant of contestants) await takeSample(bench, contestant);
    const rounds = await sampled(bench.options.samples, (index) => takeRound(bench, contestants, index));
    const samplesOf = ({ name }: Contestant) => rounds.flatMap((round) => round.get(name) ?? []);
    return [
      ...calibrationMeasures(samplesOf(bench.signet)),
      ...signetMeasures(bench, samplesOf(bench.signet)),
      ...besideFastest(
        samplesOf(bench.signet),
        peers.map((peer) => ({ name: peer.name, samples: samplesOf(peer) })),
      ),
      ...peers.flatMap((peer) => peerMeasures(peer, samplesOf(peer))),
    ];
  } finally {
    await Promise.all(peers.map((peer) => peer.stop()));
  }
}

/** Each begins in turn, so that none always comes first after a pause. */
async function takeRound(bench: Bench, contestants: readonly Contestant[], index: number) {
  const round = new Map<string, TokenSample>();
  const first = index % contestants.length;
  for (const contestant of [...contestants.slice(first), ...contestants.slice(0, first)]) {
    round.set(contestant.name, await takeSample(bench, contestant));
  }
  return round;
}

async function takeSample(bench: Bench, contestant: Contestant): Promise<TokenSample> {
  const { milliseconds } = bench.options;
  const isSignet = contestant === bench.signet;
  const before = isSignet ? await readCommits(contestant) : null;
  const { outcome, calibration } = await bench.bracketed(() =>
    bench.load(contestant, { ...endlessTokens(contestant), milliseconds }),
  );
  const commits = before === null ? null : commitsSince(before, await readCommits(contestant));
  await verifyTokens(contestant, outcome.accessTokens);
  return { ...outcome, calibration, commits };
}

function calibrationMeasures(samples: readonly TokenSample[]): Measure[] {
  const measure = from(samples);
  return [
    measure('C: JWTs/s', '', ({ calibration }) => calibration.perSecond),
    measure('C: time of one JWT on its core', 'ms', ({ calibration }) => calibration.millisecondsEach),
  ];
}

function signetMeasures({ signet: { name }, aims }: Bench, samples: readonly TokenSample[]): Measure[] {
  const measure = from(samples);
  return [
    ...rates(name, samples, aims.tokensOverC),
    measure(`${name}: main thread per token`, 'µs', mainThreadEach, { atMost: 200 }),
    measure(`${name}: tokens per commit`, '', ({ count, commits }) => count / (commits?.count ?? 0)),
    measure(`${name}: share of the time in commits`, '×', shareInCommits),
  ];
}

const peerMeasures = ({ name, version }: Contestant, samples: readonly TokenSample[]): Measure[] => [
  ...rates(`${name} ${version}`, samples),
  from(samples)(`${name} ${version}: main thread per token`, 'µs', mainThreadEach),
];

function rates(name: string, samples: readonly TokenSample[], aim?: number): Measure[] {
  const measure = from(samples);
  const share = ({ perSecond, calibration }: TokenSample) => perSecond / calibration.perSecond;
  return [
    measure(`${name}: tokens/s`, '', ({ perSecond }) => perSecond),
    measure(`${name}: tokens/s over C`, '×', share, aim === undefined ? undefined : { atLeast: aim }),
    measure(`${name}: p50`, 'ms', ({ p50 }) => p50),
    measure(`${name}: p99`, 'ms', ({ p99 }) => p99),
  ];
}

const shareInCommits = ({ count, perSecond, commits }: TokenSample): number =>
  (commits?.seconds ?? 0) / (count / perSecond);

const mainThreadEach = ({ usage, count }: TokenSample): number => (usage?.main ?? Number.NaN) / count;

interface Peer {
  name: string;
  samples: readonly TokenSample[];
}

/** Round by round, over the peer with the highest median. */
function besideFastest(own: readonly TokenSample[], peers: readonly Peer[]): Measure[] {
  const median = ({ samples }: Peer) => medianOf(samples.map(({ perSecond }) => perSecond));
  const fastest = peers.toSorted((a, b) => median(b) - median(a))[0];
  if (fastest === undefined) return [];
  const pairs = own.map(({ perSecond }, index) => ({ perSecond, peer: fastest.samples[index]?.perSecond }));
  const ratio = ({ perSecond, peer = Number.NaN }: (typeof pairs)[number]) => perSecond / peer;
  return [from(pairs)(`tokens/s over ${fastest.name}, the fastest peer`, '×', ratio, { atLeast: 1.5 })];
}

const PEER_CLIENTS = 100;

/** Of the same length as Signet's. */
const peerClients = (): BenchClient[] =>
  Array.from({ length: PEER_CLIENTS }, (_, index) => ({
    clientId: `cid_${String(index).padStart(26, '0')}`,
    clientSecret: `cs_${String(index).padStart(49, '0')}`,
  }));

import { type Bench, endlessTokens, type Loaded } from './bench.ts';
import { from, type Measure, sampled } from './measure.ts';
import { refresh, revocation, selfServiceRead } from './requests.ts';

/**
 * What a request costs beside its signature: the CPU time of all threads of the service but libuv's pool, which only
 * signs here. It is read for each thread, so that no estimate of a signature has to be taken off.
 */
export async function measureCosts(bench: Bench): Promise<Measure[]> {
  if (process.platform !== 'linux') return [];
  await takeSample(bench);
  const measure = from(await sampled(bench.options.samples, () => takeSample(bench)));
  const { name } = bench.signet;
  const aim = { atMost: 1.3 };
  return [
    measure(`${name}: a token without its signature`, 'µs', ({ token }) => token),
    measure(`${name}: a refresh without its signature`, 'µs', ({ refreshed }) => refreshed),
    measure(`${name}: a refresh over a token`, '×', ({ refreshed, token }) => refreshed / token, aim),
    measure(`${name}: a revocation`, 'µs', ({ revoked }) => revoked),
    measure(`${name}: a revocation over a token`, '×', ({ revoked, token }) => revoked / token, aim),
    measure(`${name}: a self-service read`, 'µs', ({ read }) => read),
    measure(`${name}: a self-service read over a token`, '×', ({ read, token }) => read / token, aim),
    measure(`${name}: pool per token, signature and hand-over`, 'µs', ({ pool }) => pool),
  ];
}

/** Every request has a token of its own that the service has not verified yet. */
async function takeSample({ signet, options, load }: Bench) {
  const { milliseconds } = options;
  const issued = await load(signet, { ...endlessTokens(signet), milliseconds });
  const refreshed = await load(signet, {
    requests: issued.refreshTokens.map(refresh),
    expects: 'access_token',
  });
  const read = await load(signet, { requests: issued.accessTokens.map(selfServiceRead), expects: 'agent' });
  const revoked = await load(signet, {
    requests: refreshed.accessTokens.map(revocation),
    expects: 'status',
  });
  return {
    token: costEach(issued),
    refreshed: costEach(refreshed),
    read: costEach(read),
    revoked: costEach(revoked),
    pool: (issued.usage?.pool ?? Number.NaN) / issued.count,
  };
}

const costEach = ({ usage, count }: Loaded): number =>
  usage === null ? Number.NaN : (usage.all - usage.pool) / count;

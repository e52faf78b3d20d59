import { Pool } from 'undici';

/**
 * The load, in a process of its own: answers a line of JSON for each job that it reads, with the requests a second and
 * the latencies that it saw.
 */
export interface Job {
  kind: 'tokens' | 'introspections';
  origin: string;
  connections: number;
  milliseconds: number;
  clients: readonly { clientId: string; clientSecret: string }[];
  /** The tokens to introspect, each once; fewer than the time allows ends the job. */
  tokens: readonly string[];
}

export interface Outcome {
  perSecond: number;
  p50: number;
  p99: number;
  /** What the token endpoint answered. */
  tokens: string[];
}

process.on('message', async (job: Job) => process.send?.(await run(job)));

async function run(job: Job): Promise<Outcome> {
  const pool = new Pool(job.origin, { connections: job.connections, pipelining: 1 });
  const latencies: number[] = [];
  const tokens: string[] = [];
  const started = performance.now();
  let next = 0;
  async function worker(): Promise<void> {
    while (performance.now() - started < job.milliseconds) {
      const index = next++;
      if (job.kind === 'introspections' && index >= job.tokens.length) return;
      const sent = performance.now();
      const answer = await request(pool, job, index);
      latencies.push(performance.now() - sent);
      if (answer.access_token !== undefined) tokens.push(answer.access_token);
    }
  }
  await Promise.all(Array.from({ length: job.connections }, worker));
  const seconds = (performance.now() - started) / 1000;
  await pool.close();
  latencies.sort((a, b) => a - b);
  return {
    perSecond: latencies.length / seconds,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    tokens,
  };
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

async function request(pool: Pool, job: Job, index: number) {
  const { path, body } = job.kind === 'tokens' ? tokenRequest(job, index) : introspection(job, index);
  const response = await pool.request({ method: 'POST', path, headers: FORM, body });
  const answer = (await response.body.json()) as { access_token?: string; active?: boolean };
  const isRight = job.kind === 'tokens' ? answer.access_token !== undefined : answer.active === true;
  if (!isRight) throw new Error(`${path} answered ${response.statusCode}: ${JSON.stringify(answer)}`);
  return answer;
}

function tokenRequest(job: Job, index: number) {
  const client = job.clients[index % job.clients.length];
  if (client === undefined) throw new Error('There are no clients to get tokens for.');
  const form = { client_id: client.clientId, client_secret: client.clientSecret };
  const body = new URLSearchParams({ grant_type: 'client_credentials', ...form }).toString();
  return { path: '/oauth/token', body };
}

const introspection = (job: Job, index: number) => ({
  path: '/oauth/introspect',
  body: `token=${job.tokens[index]}`,
});

const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;

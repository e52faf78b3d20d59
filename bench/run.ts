import { type ChildProcess, execFile, fork, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import type { Job, Outcome } from './load.ts';

/** Tokens and introspections a second over HTTP with durable commits, beside raw signatures in the same run. */

const { values: options } = parseArgs({
  options: {
    samples: { type: 'string', default: '10' },
    seconds: { type: 'string', default: '2' },
    connections: { type: 'string', default: '16' },
  },
});
const samples = Number(options.samples);
const milliseconds = Number(options.seconds) * 1000;
const connections = Number(options.connections);
const ADMIN = { email: 'bench@localhost', password: 'correct-horse-battery' };
const AGENTS = 100;

interface Sample {
  signatures: number;
  tokens: Outcome;
  introspections: Outcome;
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'signet-bench-'));
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const service = await startService(folder, port);
  const load = fork(new URL('./load.ts', import.meta.url), { stdio: 'inherit' });
  try {
    const clients = await createClients(origin);
    const job = { origin, connections, milliseconds, clients, tokens: [] };
    await run(load, { ...job, kind: 'tokens' });
    const taken: Sample[] = [];
    for (let index = 0; index < samples; index++) taken.push(await takeSample(load, job));
    print(taken);
  } finally {
    load.kill();
    service.kill('SIGTERM');
    await new Promise((resolve) => service.once('exit', resolve));
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Signatures on both sides of what is measured: a machine that changes its speed changes it for all three. */
async function takeSample(load: ChildProcess, job: Omit<Job, 'kind'>): Promise<Sample> {
  const before = await signaturesPerSecond();
  const tokens = await run(load, { ...job, kind: 'tokens' });
  const introspections = await run(load, { ...job, kind: 'introspections', tokens: tokens.tokens });
  const after = await signaturesPerSecond();
  return { signatures: (before + after) / 2, tokens, introspections };
}

/** One process per core, each signing as fast as it can. */
async function signaturesPerSecond(): Promise<number> {
  const script = new URL('./signatures.ts', import.meta.url).pathname;
  const one = async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [script, String(milliseconds / 2)]);
    return Number(stdout);
  };
  const all = await Promise.all(Array.from({ length: availableParallelism() }, one));
  return all.reduce((sum, perSecond) => sum + perSecond, 0);
}

function run(load: ChildProcess, job: Job): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const onExit = () => reject(new Error('The load generator ended.'));
    load.once('exit', onExit);
    load.once('message', (outcome) => {
      load.off('exit', onExit);
      resolve(outcome as Outcome);
    });
    load.send(job);
  });
}

async function startService(folder: string, port: number): Promise<ChildProcess> {
  const service = spawn(process.execPath, [new URL('../bin/signet.mjs', import.meta.url).pathname, 'serve'], {
    cwd: folder,
    env: {
      ...process.env,
      SIGNET_PORT: String(port),
      SIGNET_DATA_DIR: join(folder, 'data'),
      SIGNET_ADMIN_EMAIL: ADMIN.email,
      SIGNET_ADMIN_PASSWORD: ADMIN.password,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise((resolve) => service.stdout?.once('data', resolve));
  return service;
}

async function createClients(origin: string): Promise<{ clientId: string; clientSecret: string }[]> {
  const authorization = `Basic ${Buffer.from(`${ADMIN.email}:${ADMIN.password}`).toString('base64')}`;
  const clients = [];
  for (let index = 0; index < AGENTS; index++) {
    const response = await fetch(`${origin}/api/agents`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ name: `bench ${index}`, scopes: ['read', 'write'] }),
    });
    const body = (await response.json()) as { client_id: string; client_secret: string };
    clients.push({ clientId: body.client_id, clientSecret: body.client_secret });
  }
  return clients;
}

function print(taken: readonly Sample[]): void {
  const rows: [string, number[], string][] = [
    ['RS256 signatures/s, all cores', taken.map((sample) => sample.signatures), ''],
    ['tokens/s', taken.map((sample) => sample.tokens.perSecond), ''],
    ['  beside signatures', taken.map((sample) => sample.tokens.perSecond / sample.signatures), '×'],
    ['  p50', taken.map((sample) => sample.tokens.p50), 'ms'],
    ['  p99', taken.map((sample) => sample.tokens.p99), 'ms'],
    ['introspections/s, each token once', taken.map((sample) => sample.introspections.perSecond), ''],
    ['  beside signatures', taken.map((sample) => sample.introspections.perSecond / sample.signatures), '×'],
    ['  p50', taken.map((sample) => sample.introspections.p50), 'ms'],
    ['  p99', taken.map((sample) => sample.introspections.p99), 'ms'],
  ];
  const machine = `${availableParallelism()} × ${cpus()[0]?.model ?? 'unknown'}`;
  console.log(
    `Node ${process.versions.node}, ${machine}, ${connections} connections, ${taken.length} samples\n`,
  );
  console.log('| what | median | least | most |\n|---|---|---|---|');
  for (const [name, figures, unit] of rows) {
    const sorted = figures.toSorted((a, b) => a - b);
    const middle = sorted[Math.floor(sorted.length / 2)];
    const [median, least, most] = [middle, sorted[0], sorted.at(-1)].map((figure) =>
      format(figure ?? 0, unit),
    );
    console.log(`| ${name} | ${median} | ${least} | ${most} |`);
  }
}

const format = (figure: number, unit: string): string =>
  `${figure >= 100 ? Math.round(figure) : figure.toFixed(2)}${unit === '' ? '' : ` ${unit}`}`;

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

await main();

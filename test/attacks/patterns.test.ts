import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { fullFormats } from 'ajv-formats/dist/formats.js';
import { parseJson } from '../../src/http/body-parsers.ts';

interface Pattern {
  source: string;
  flags: string;
  longest: number;
}

const LARGEST_BODY = 64 * 1024;
/** A step too many for each character is seconds at 64 KiB; one pass is a millisecond. */
const MOST_MILLISECONDS = 100;

/** Patterns that no stranger’s 64 KiB reach: how long their text can be, and why. */
const SHORTER: ReadonlyMap<string, { longest: number; because: string }> = new Map([
  [
    '"(?:[^"\\\\]|\\\\.)*"',
    { longest: 1000, because: 'it reads valid JSON alone, which the last test is about' },
  ],
  ['=+$', { longest: 64, because: 'it reads base64 that the service made' }],
  ['\\/+$', { longest: 1000, because: 'it reads a setting' }],
  [':\\/\\/\\S*@', { longest: 1000, because: 'it reads messages of the command line' }],
  ['%.*$', { longest: 2048, because: 'it reads host names of webhooks, whose URLs are no longer' }],
]);

/** Every literal, and every text that becomes a pattern, with a prefix of a list in the place of a placeholder. */
function patternsOfSource(): Pattern[] {
  const found: Pattern[] = [];
  for (const file of globSync('src/**/*.ts')) {
    const code = readFileSync(file, 'utf8')
      .replace(/\/\*[\s\S]*?\*\//g, '')
      .replace(/^\s*\/\/.*$/gm, '');
    const literals =
      /(?<=(?:[=(,:!&|?{};]|return)\s*)\/(?![*/])((?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)\/([dgimsuvy]*)/g;
    for (const [, source = '', flags = ''] of code.matchAll(literals)) found.push(withLength(source, flags));
    for (const [, text = ''] of code.matchAll(/(?:pattern: |PATTERN = )['`]([^'`\n]+)['`]/g)) {
      const source = text.replaceAll('\\\\', '\\').replaceAll(/\$\{\w+\}/g, 'x');
      found.push(withLength(source, 'u'));
    }
  }
  return found;
}

const withLength = (source: string, flags: string): Pattern => ({
  source,
  flags,
  longest: SHORTER.get(source)?.longest ?? LARGEST_BODY,
});

/** Runs in a thread, so that it can be stopped in the middle of a match: says what it begins with, then that it is done. */
const program = `
  const { parentPort, workerData } = require('node:worker_threads');
  const GENERAL = ['a', '0', ' ', '-'];
  const PREFIXES = ['', 'basic ', 'bearer ', 'rt_1_', '"', 'a@', 'A', '%', '://', '$argon2id$v=19$m=1,t=1,p=1$'];
  for (const { source, flags, longest } of workerData.patterns) {
    const own = [...new Set(source.replace(/\\\\[a-zA-Z]|[\\\\^$()?*+{}\\[\\]]/g, ''))].slice(0, 4);
    const letters = [...new Set([...own, ...GENERAL])];
    const pumps = letters.flatMap((x) => [x, ...own.filter((y) => y !== x).map((y) => x + y)]);
    for (const pump of pumps) for (const prefix of PREFIXES) for (const suffix of ['', '\\n!']) {
      const text = prefix + pump.repeat((longest - 40) / pump.length) + suffix;
      parentPort.postMessage({ source, start: prefix + pump, suffix });
      let best = Infinity;
      for (let attempt = 0; attempt < 3 && best > workerData.most; attempt += 1) {
        const pattern = new RegExp(source, flags);
        const start = performance.now();
        flags.includes('g') ? text.replace(pattern, '') : pattern.test(text);
        best = Math.min(best, performance.now() - start);
      }
      if (best > workerData.most) { parentPort.postMessage({ slow: true }); return; }
    }
  }
  parentPort.postMessage({ isDone: true });`;

/** null where each pattern gets through all texts in time; else what it was at. */
async function slowest(patterns: readonly Pattern[], seconds: number): Promise<string | null> {
  const source = `(() => {${program}})()`;
  const worker = new Worker(source, { eval: true, workerData: { patterns, most: MOST_MILLISECONDS } });
  let at = '';
  try {
    return await new Promise<string | null>((resolve, reject) => {
      const timer = setTimeout(() => resolve(at), seconds * 1000);
      worker.on('error', reject);
      worker.on('message', (message: { isDone?: boolean; slow?: boolean }) => {
        if (message.isDone || message.slow) clearTimeout(timer);
        if (message.isDone) resolve(null);
        else if (message.slow) resolve(at);
        else at = JSON.stringify(message);
      });
    });
  } finally {
    await worker.terminate();
  }
}

test('the search for slow patterns finds one', async () => {
  assert.match((await slowest([withLength('^(a+)+$', '')], 2)) ?? '', /\(a\+\)\+/);
});

test('no pattern of the source takes more than one look at each character of 64 KiB', async () => {
  const patterns = patternsOfSource();
  assert.ok(patterns.length >= 30, String(patterns.length));
  for (const source of SHORTER.keys())
    assert.ok(
      patterns.some((pattern) => pattern.source === source),
      source,
    );
  assert.equal(await slowest(patterns, 60), null);
});

test('no format of a schema takes more than one look at each character that the schema lets through', async () => {
  const { email } = fullFormats;
  assert.ok(email instanceof RegExp);
  assert.equal(await slowest([{ source: email.source, flags: email.flags, longest: 320 }], 20), null);
});

test('a body of 64 KiB of valid JSON is read in one pass, whatever it is full of', () => {
  const full = (piece: string) => piece.repeat(Math.floor(65_000 / piece.length));
  const bodies = [
    `"${full('\\"')}"`,
    `"${full('\\\\')}"`,
    `[${full('"",')}""]`,
    `["${full('",":')}"]`.replaceAll('":', '"'),
    `"${full('\\u0022')}"`,
    `{"a":"${full(':{')}"}`,
  ];
  for (const body of bodies) {
    const start = process.cpuUsage();
    parseJson(body);
    const { user } = process.cpuUsage(start);
    assert.ok(user < MOST_MILLISECONDS * 1000, body.slice(0, 20));
  }
});

import { generateKeyPairSync, sign } from 'node:crypto';

/** The limit: RS256 signatures of a token's size, one after the other, and nothing else. Prints how many a second. */

const SIGNING_INPUT_BYTES = 430;
const milliseconds = Number(process.argv[2]);
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const input = Buffer.alloc(SIGNING_INPUT_BYTES, 'x');

const started = performance.now();
let count = 0;
while (performance.now() - started < milliseconds) {
  sign('sha256', input, privateKey);
  count += 1;
}
process.stdout.write(String((count / (performance.now() - started)) * 1000));

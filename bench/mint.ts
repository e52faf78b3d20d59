import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { answerJobs } from './job-process.ts';

/**
 * Mints JWTs as fast as one core can: header, claims, encoding and a synchronous RS256 signature, one after the other,
 * with no HTTP, no store and no waiting.
 */
export interface MintJob {
  milliseconds: number;
  header: object;
  /** Those of a real token; `iat`, `exp` and `jti` are made anew for each. */
  claims: Record<string, unknown>;
}

export interface Minted {
  perSecond: number;
}

const LIFETIME_SECONDS = 3600;
const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

answerJobs(({ milliseconds, header, claims }: MintJob): Minted => {
  const started = performance.now();
  const encodedHeader = encode(header);
  const jtiLength = String(claims['jti'] ?? '').length;
  let count = 0;
  while (performance.now() - started < milliseconds) {
    const iat = Math.floor(Date.now() / 1000);
    const jti = randomBytes(jtiLength).toString('base64url').slice(0, jtiLength);
    const payload = encode({ ...claims, iat, exp: iat + LIFETIME_SECONDS, jti });
    mint(`${encodedHeader}.${payload}`);
    count += 1;
  }
  return { perSecond: count / ((performance.now() - started) / 1000) };
});

const mint = (signingInput: string): string =>
  `${signingInput}.${sign('sha256', Buffer.from(signingInput), privateKey).toString('base64url')}`;

import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import type { Contestant } from './peers/peer.ts';

/** Fails where one of the tokens is not a JWT of its own that verifies, by RS256 and the published keys. */
export async function verifyTokens(contestant: Contestant, tokens: readonly string[]): Promise<void> {
  const { name, origin, jwksPath } = contestant;
  if (tokens.length === 0) throw new Error(`${name} has issued no token.`);
  if (new Set(tokens).size !== tokens.length) throw new Error(`${name} has issued a token twice.`);
  const response = await fetch(origin + jwksPath);
  const keys = createLocalJWKSet((await response.json()) as JSONWebKeySet);
  const expected = { issuer: origin, algorithms: ['RS256'], requiredClaims: ['exp', 'jti', 'client_id'] };
  for (const token of tokens) await jwtVerify(token, keys, expected);
}

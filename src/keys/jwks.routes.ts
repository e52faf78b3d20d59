import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { type Static, Type } from 'typebox';
import { actorOf } from '../audit/actor.ts';
import { toTimestamp, toTimestampOrNull } from '../clock.ts';
import { DatabaseUnavailable } from '../db/database.ts';
import { ADMIN_ERRORS, BODY_ERRORS, errorResponses, Nullable, Timestamp } from '../schema.ts';
import type { KeyRing } from './key-ring.ts';
import type { SigningKey } from './signing-key.ts';

const Jwks = Type.Object({
  keys: Type.Array(
    Type.Object({
      kty: Type.Literal('RSA'),
      kid: Type.String({ description: 'RFC 7638 thumbprint.' }),
      use: Type.Literal('sig'),
      alg: Type.Literal('RS256'),
      n: Type.String({ description: 'Modulus, base64url.' }),
      e: Type.String({ description: 'Exponent, base64url.', examples: ['AQAB'] }),
    }),
  ),
});

const KeyView = Type.Object(
  {
    kid: Type.String(),
    status: Type.String({
      enum: ['next', 'active', 'retiring'],
      description: '`next` is published and waits, `active` signs, `retiring` only verifies.',
    }),
    created_at: Timestamp,
    activated_at: Nullable(Timestamp),
    retired_at: Nullable(Timestamp),
    remove_at: Nullable(Timestamp),
  },
  { title: 'SigningKey' },
);

const KeyList = Type.Object({ keys: Type.Array(KeyView) });

/** Verifiers may keep the set for this long; an unknown `kid` is their sign to look again. */
const JWKS_SECONDS = 300;

export const jwksRoutes: FastifyPluginAsyncTypebox<{ keyRing: KeyRing }> = async (app, { keyRing }) => {
  app.get(
    '/.well-known/jwks.json',
    {
      schema: {
        tags: ['discovery'],
        security: [{}],
        summary: 'Public keys',
        description:
          'RFC 7517. A key is here before its first signature and until its last token has expired.',
        response: { 200: Jwks, ...errorResponses() },
      },
    },
    async (_request, reply) => {
      await refreshed(keyRing);
      return reply
        .header('cache-control', `public, max-age=${JWKS_SECONDS}`)
        .header('access-control-allow-origin', '*')
        .send({ keys: keyRing.publicJwks });
    },
  );
};

/** Another process may have rotated. While the database is away, the keys that are known go on verifying tokens. */
async function refreshed(keyRing: KeyRing): Promise<void> {
  try {
    await keyRing.refresh();
  } catch (error) {
    if (!(error instanceof DatabaseUnavailable)) throw error;
  }
}

/** The same keys as administrators see them. */
export const keysRoutes: FastifyPluginAsyncTypebox<{ keyRing: KeyRing }> = async (app, { keyRing }) => {
  const tags = ['keys'];
  const security = [{ administrator: [] }];

  app.get(
    '/api/keys',
    {
      schema: {
        tags,
        security,
        summary: 'List signing keys',
        response: { 200: KeyList, ...errorResponses(...ADMIN_ERRORS) },
      },
    },
    async () => {
      await keyRing.refresh();
      return { keys: keyRing.keys.map(toKeyView) };
    },
  );

  app.post(
    '/api/keys/rotate',
    {
      schema: {
        tags,
        security,
        summary: 'Rotate the signing key',
        description:
          'The next key signs from now on, a new next one is published, tokens of the old one stay valid.',
        response: { 200: KeyList, ...errorResponses(...ADMIN_ERRORS, ...BODY_ERRORS) },
      },
    },
    async (request) => {
      await keyRing.rotate(actorOf(request));
      return { keys: keyRing.keys.map(toKeyView) };
    },
  );
};

/** What anybody but the ring itself sees of a key. */
export function toKeyView(key: SigningKey): Static<typeof KeyView> {
  return {
    kid: key.kid,
    status: key.status,
    created_at: toTimestamp(key.createdAt),
    activated_at: toTimestampOrNull(key.activatedAt),
    retired_at: toTimestampOrNull(key.retiredAt),
    remove_at: toTimestampOrNull(key.removeAt),
  };
}

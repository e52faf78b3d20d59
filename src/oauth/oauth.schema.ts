import { Type } from 'typebox';

/**
 * Bodies of the OAuth endpoints. RFC 6749 §3.2: unknown parameters are ignored. JSON and form bodies meet the same
 * schema.
 */
const Parameter = (description: string, options: object = {}) =>
  Type.Optional(Type.String({ maxLength: 16_384, description, ...options }));

const GRANT = {
  client_id: Parameter('Also by HTTP Basic authentication.', {
    examples: ['cid_01k0d4v3s6e8wbn7xtq5mzr2ch'],
  }),
  client_secret: Parameter('Also by HTTP Basic authentication.'),
  scope: Parameter('Names between single spaces; all that is held where it is left out.', {
    examples: ['read write'],
  }),
};

export const TokenRequest = Type.Object({
  grant_type: Type.String({
    examples: ['client_credentials'],
    description: '`client_credentials` or `refresh_token`.',
  }),
  ...GRANT,
  refresh_token: Parameter('With `grant_type=refresh_token`.'),
});

export const RefreshRequest = Type.Object({
  grant_type: Type.String({ examples: ['refresh_token'] }),
  refresh_token: Type.String({ maxLength: 16_384, examples: ['rt_1z_…'] }),
  ...GRANT,
});

export const TokenAnswer = Type.Object({
  access_token: Type.String({
    description: 'A JWT (RFC 9068).',
    examples: ['eyJhbGciOiJSUzI1NiIsInR5cCI6ImF0K2p3dCJ9…'],
  }),
  token_type: Type.Literal('Bearer'),
  expires_in: Type.Integer({ description: 'Seconds.', examples: [3600] }),
  scope: Type.String({ examples: ['read write'] }),
  refresh_token: Type.Optional(Type.String({ examples: ['rt_1z_…'] })),
});

const AnyToken = Type.String({
  minLength: 1,
  maxLength: 16_384,
  description: 'An access or a refresh token.',
});

export const IntrospectRequest = Type.Object({
  token: AnyToken,
  token_type_hint: Parameter('Not needed: the tokens tell themselves apart.'),
  client_id: GRANT.client_id,
  client_secret: GRANT.client_secret,
});

export const RevokeRequest = IntrospectRequest;

/** RFC 7662 §2.2; an inactive token is not an error. */
export const IntrospectAnswer = Type.Object({
  active: Type.Boolean(),
  scope: Type.Optional(Type.String({ examples: ['read write'] })),
  client_id: Type.Optional(Type.String()),
  token_type: Type.Optional(Type.String({ enum: ['Bearer', 'refresh_token'] })),
  exp: Type.Optional(Type.Integer({ description: 'Unix seconds.' })),
  iat: Type.Optional(Type.Integer({ description: 'Unix seconds.' })),
  sub: Type.Optional(Type.String({ description: 'The agent’s id.' })),
  iss: Type.Optional(Type.String()),
  aud: Type.Optional(Type.String()),
  jti: Type.Optional(Type.String()),
  org_id: Type.Optional(Type.String()),
  reason: Type.Optional(Type.String({ enum: ['revoked', 'expired', 'agent_inactive', 'invalid'] })),
});

export const RevokeAnswer = Type.Object({ status: Type.Literal('revoked') });

import type { LoadRequest } from './load.ts';

/** The requests that the load sends, built before the clock runs. */

export interface BenchClient {
  clientId: string;
  clientSecret: string;
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

const form = (path: string, fields: Record<string, string>): LoadRequest => ({
  method: 'POST',
  path,
  headers: FORM,
  body: new URLSearchParams(fields).toString(),
});

export const tokenRequest =
  (path: string) =>
  ({ clientId, clientSecret }: BenchClient): LoadRequest =>
    form(path, {
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
      scope: 'read write',
    });

export const introspection = (token: string): LoadRequest => form('/oauth/introspect', { token });

export const revocation = (token: string): LoadRequest => form('/oauth/revoke', { token });

export const refresh = (refreshToken: string): LoadRequest =>
  form('/oauth/token', { grant_type: 'refresh_token', refresh_token: refreshToken });

export const selfServiceRead = (token: string): LoadRequest => ({
  method: 'GET',
  path: '/api/agents/me',
  headers: { authorization: `Bearer ${token}` },
});

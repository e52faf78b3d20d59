import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { errorCatalogue } from '../../src/errors.ts';
import { send, startService, type TestService } from '../harness.ts';

interface Media {
  schema: object;
}
interface Operation {
  summary?: string;
  operationId?: string;
  security?: object[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, { description?: string; content?: Record<string, Media> }>;
}

let service: TestService;
let document: Record<string, unknown>;
let operations: Array<{ name: string; operation: Operation }>;

before(async () => {
  service = await startService();
  document = (await send(service.url, 'GET', '/openapi.json')).body;
  const paths = document['paths'] as Record<string, Record<string, Operation>>;
  operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      operation,
    })),
  );
});
after(() => service.stop());

/** Whether a schema holds an example somewhere; a value that stands fixed is its own. */
function hasExample(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false;
  const isExample = ['examples', 'example', 'const', 'enum'].some((keyword) => keyword in schema);
  return isExample || Object.values(schema).some(hasExample);
}

test('GET /openapi.json: the document is valid OpenAPI 3.1 by a validator of somebody else', async () => {
  const { valid, errors } = await new Validator().validate(structuredClone(document));
  assert.equal(valid, true, JSON.stringify(errors));
  assert.match(String(document['openapi']), /^3\.1\./);
});

test('each operation of the specification is there', () => {
  const names = operations.map((operation) => operation.name);
  for (const name of [
    'POST /oauth/token',
    'POST /oauth/refresh',
    'POST /oauth/introspect',
    'POST /oauth/revoke',
    'GET /.well-known/jwks.json',
    'POST /api/agents',
    'DELETE /api/agents/me/delete',
    'GET /api/organizations/{org_id}/agents',
    'GET /api/webhooks/{id}/deliveries',
    'GET /api/webhook-events',
  ]) {
    assert.ok(names.includes(name), name);
  }
});

test('each operation has a summary, a name of its own and its security', () => {
  const ids = operations.map(({ operation }) => operation.operationId);
  assert.equal(new Set(ids).size, operations.length);
  const schemes = Object.keys((document['components'] as { securitySchemes: object }).securitySchemes);
  for (const { name, operation } of operations) {
    assert.ok(operation.summary, `${name} has no summary`);
    assert.match(operation.operationId ?? '', /^[a-z][A-Za-z0-9_]*$/, name);
    assert.ok(operation.security?.length, `${name} does not say its security`);
    for (const scheme of operation.security.flatMap((choice) => Object.keys(choice))) {
      assert.ok(schemes.includes(scheme), `${name}: ${scheme}`);
    }
  }
});

test('each path has the security of its part', () => {
  for (const { name, operation } of operations) {
    const path = name.split(' ')[1] ?? '';
    const schemes = operation.security?.flatMap((choice) => Object.keys(choice));
    if (path.startsWith('/api/agents/me')) assert.deepEqual(schemes, ['accessToken'], name);
    else if (path.startsWith('/api/')) assert.deepEqual(schemes, ['administrator', 'apiKey'], name);
    else assert.ok(!schemes?.includes('administrator') && !schemes?.includes('accessToken'), name);
  }
});

test('each operation describes its errors, each by a code of the catalogue and with an example', () => {
  const codes = Object.keys(errorCatalogue);
  for (const { name, operation } of operations) {
    const errors = Object.entries(operation.responses).filter(([status]) => Number(status) >= 400);
    const statuses = errors.map(([status]) => status);
    for (const status of ['400', '500', '503']) assert.ok(statuses.includes(status), `${name} ${status}`);
    if (name.includes('/api/')) assert.ok(statuses.includes('401'), name);
    for (const [status, { content, description }] of errors) {
      const schema = content?.['application/json']?.schema as { properties: { error: { enum: string[] } } };
      assert.ok(
        schema.properties.error.enum.every((code) => codes.includes(code)),
        `${name} ${status}`,
      );
      assert.ok(description && hasExample(schema), `${name} ${status}`);
    }
  }
});

test('each body and each successful JSON answer carries an example', () => {
  for (const { name, operation } of operations) {
    for (const [type, { schema }] of Object.entries(operation.requestBody?.content ?? {})) {
      assert.ok(hasExample(schema), `${name} ${type}`);
    }
    for (const [status, { content }] of Object.entries(operation.responses)) {
      const schema = content?.['application/json']?.schema;
      if (Number(status) < 300 && schema !== undefined) {
        assert.ok(hasExample(schema), `${name} ${status}`);
      }
    }
  }
});

import assert from 'node:assert/strict';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

const addFormats = formats as unknown as typeof formats.default;

interface Operation {
  responses: Record<string, { content?: Record<string, { schema: object }> }>;
}
export interface OpenapiDocument {
  paths: Record<string, Record<string, Operation>>;
}

export interface Exchange {
  method: string;
  path: string;
  status: number;
  contentType: string;
  body: unknown;
}

const ajv = addFormats(new Ajv2020({ strict: false }));
/** By the text of their schema: compiling costs far more than all that is validated, and services publish the same. */
const validators = new Map<string, ValidateFunction>();
const validatorsBySchema = new WeakMap<object, ValidateFunction>();

export type OpenapiCheck = (exchange: Exchange) => void;

/** Holds every answer of the suite against the document that the service publishes. */
export function createOpenapiCheck(document: OpenapiDocument): OpenapiCheck {
  const templates = Object.keys(document.paths).sort((a, b) => parameters(a) - parameters(b));

  return ({ method, path, status, contentType, body }) => {
    const template = templates.find((candidate) => matches(candidate, path));
    const operation = template === undefined ? undefined : document.paths[template]?.[method.toLowerCase()];
    if (template === undefined || operation === undefined) {
      assertError(status, body);
      return;
    }
    const response = operation.responses[String(status)];
    assert.ok(response, `${method} ${template} answered ${status}, which the document does not list`);
    const schema = Object.entries(response.content ?? {}).find(([type]) => contentType.startsWith(type))?.[1]
      .schema;
    if (schema === undefined) {
      assert.equal(body, undefined, `${method} ${template} ${status} has a body that is not in the document`);
      return;
    }
    const validate = validatorOf(schema);
    assert.ok(
      validate(body),
      `${method} ${template} ${status}: ${ajv.errorsText(validate.errors)}: ${JSON.stringify(body)}`,
    );
  };
}

function validatorOf(schema: object): ValidateFunction {
  const known = validatorsBySchema.get(schema);
  if (known !== undefined) return known;
  const text = JSON.stringify(schema);
  const validate = validators.get(text) ?? ajv.compile(schema);
  validators.set(text, validate);
  validatorsBySchema.set(schema, validate);
  return validate;
}

/** What no operation describes is a 404 or a 405, and still our error body. */
function assertError(status: number, body: unknown): void {
  assert.ok(status >= 400, `an undocumented operation answered ${status}`);
  const { error, error_description: description } = body as Record<string, unknown>;
  assert.deepEqual([typeof error, typeof description], ['string', 'string']);
}

const parameters = (template: string): number => template.split('{').length;

function matches(template: string, path: string): boolean {
  const [wanted, given] = [template.split('/'), path.split('/')];
  return (
    wanted.length === given.length &&
    wanted.every((part, index) => part.startsWith('{') || part === given[index])
  );
}

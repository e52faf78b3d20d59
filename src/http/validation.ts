import { Ajv, type ErrorObject } from 'ajv';
import formats from 'ajv-formats';
import type { FastifySchemaCompiler, FastifySchemaValidationError } from 'fastify';
import { onFirstUse } from './on-first-use.ts';

const addFormats = formats as unknown as typeof formats.default;

// A test checks all schemas, in the OpenAPI document that has them; doing it here costs more than compiling them.
const options = { allErrors: false, useDefaults: false, strict: false, validateSchema: false };

/** Bodies are taken as they are: "5" is not 5. A query is text, so there "5" is. */
const body = addFormats(new Ajv({ ...options, coerceTypes: false }));
const query = addFormats(new Ajv({ ...options, coerceTypes: true }));

const bodyValidator = onFirstUse((schema) => body.compile(schema));
const queryValidator = onFirstUse((schema) => query.compile(schema));

export const validatorCompiler: FastifySchemaCompiler<object> = ({ schema, httpPart }) => {
  const validator = httpPart === 'body' ? bodyValidator(schema) : queryValidator(schema);
  return (data: unknown) => {
    const validate = validator();
    return validate(data) || { error: (validate.errors ?? []) as FastifySchemaValidationError[] };
  };
};

/** One sentence for the first problem, with the name of the field in front. */
export function describeValidation(problems: readonly FastifySchemaValidationError[]): string {
  const problem = problems[0] as ErrorObject | undefined;
  if (problem === undefined) return 'The request does not have the expected form.';
  const path = problem.instancePath.slice(1).replaceAll('/', '.');
  switch (problem.keyword) {
    case 'required':
      return `${join(path, problem.params['missingProperty'])}: it is missing.`;
    case 'additionalProperties':
      return `${join(path, problem.params['additionalProperty'])}: there is no such field.`;
    case 'minProperties':
      return 'Send at least one field to change.';
    case 'enum':
      return `${path}: it must be one of ${(problem.params['allowedValues'] as string[]).join(', ')}.`;
    case 'uniqueItems':
      return `${path}: it names something twice.`;
    case 'type':
      return `${path === '' ? 'body' : path}: it must be ${spokenType(problem.params['type'])}.`;
    case 'pattern':
      return `${path}: it does not have the form that it must have.`;
    case 'format':
      return `${path}: it is not ${problem.params['format'] === 'email' ? 'an e-mail address' : `a ${problem.params['format']}`}.`;
    default:
      return path === '' ? `The body ${problem.message}.` : `${path}: it ${problem.message}.`;
  }
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'a string',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a JSON object',
  null: 'null',
};

const spokenType = (type: unknown): string => typeNames[String(type)] ?? String(type);

const join = (path: string, name: unknown): string =>
  printable(path === '' ? String(name) : `${path}.${name}`);

/** A name that the caller chose comes back readable and short. */
const printable = (name: string): string => name.replace(/[^\x21-\x7e]/g, '?').slice(0, 100);

import fastJson from 'fast-json-stringify';
import type { FastifySerializerCompiler } from 'fastify';
import { onFirstUse } from './on-first-use.ts';

const serializer = onFirstUse((schema) => fastJson(schema));

/** As Fastify's own, but for the time at which a schema is compiled. */
export const serializerCompiler: FastifySerializerCompiler<object> = ({ schema }) => {
  const find = serializer(schema);
  return (data: unknown) => find()(data);
};

/**
 * What `compile` makes of a schema: made when it is first asked for, and once for all schemas of the same text. A start
 * that compiled all of them would take half as long again, and routes share shapes, errors above all.
 */
export function onFirstUse<T>(compile: (schema: object) => T): (schema: object) => () => T {
  const known = new Map<string, T>();
  return (schema) => {
    let compiled: T | undefined;
    return () => {
      if (compiled !== undefined) return compiled;
      const text = JSON.stringify(schema);
      compiled = known.get(text) ?? compile(schema);
      known.set(text, compiled);
      return compiled;
    };
  };
}

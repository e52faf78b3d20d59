/** Routes share shapes, errors above all, and compiling one costs far more than its text: each is compiled once. */
export function oncePerShape<T>(compile: (schema: object) => T): (schema: object) => T {
  const compiled = new Map<string, T>();
  return (schema) => {
    const text = JSON.stringify(schema);
    const result = compiled.get(text) ?? compile(schema);
    compiled.set(text, result);
    return result;
  };
}

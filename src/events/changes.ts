/** The wire names of the members that differ, for events that say what was changed. */
export function changedNames<Resource extends object>(
  before: Resource,
  after: Resource,
  names: ReadonlyArray<readonly [keyof Resource, string]>,
): string[] {
  return names.filter(([key]) => String(before[key]) !== String(after[key])).map(([, name]) => name);
}

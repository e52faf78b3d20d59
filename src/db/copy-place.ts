import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { placeOf } from './postgres-url.ts';

/** A database as a URL or a path names it. */
export type CopyPlace = { kind: 'sqlite'; path: string } | { kind: 'postgres'; url: string };

/** For people: without user and password. */
export function nameOfPlace(place: CopyPlace): string {
  if (place.kind === 'sqlite') return place.path;
  return `postgres://${placeOf(place.url).toLowerCase()}${new URL(place.url).pathname}`;
}

/** Whether both name one database, as far as names can tell. */
export function isSamePlace(one: CopyPlace, other: CopyPlace): boolean {
  if (one.kind === 'postgres' || other.kind === 'postgres') return nameOfPlace(one) === nameOfPlace(other);
  const [first, second] = [one.path, other.path].map((path) => statSync(path, { throwIfNoEntry: false }));
  if (first === undefined || second === undefined) return resolve(one.path) === resolve(other.path);
  return first.dev === second.dev && first.ino === second.ino;
}

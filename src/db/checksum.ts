import { createHash } from 'node:crypto';
import type { Row } from './copy-end.ts';

/** SHA-256 over rows as JSON, a line each: the same for the same rows in the same order, whichever database has them. */
export class Checksum {
  readonly #hash = createHash('sha256');
  #rows = 0;

  get rows(): number {
    return this.#rows;
  }

  add(rows: readonly Row[]): void {
    for (const row of rows) {
      if (!row.every(isExact)) throw new Error(`A number is too large to be copied: ${row.join(', ')}`);
      this.#hash.update(`${JSON.stringify(row)}\n`);
    }
    this.#rows += rows.length;
  }

  digest(): string {
    return this.#hash.digest('hex');
  }
}

const isExact = (cell: unknown): boolean => typeof cell !== 'number' || Number.isSafeInteger(cell);

import assert from 'node:assert/strict';
import type { Answer } from './harness.ts';

export function assertError(answer: Answer, status: number, error: string): void {
  assert.deepEqual([answer.status, answer.body?.error], [status, error], JSON.stringify(answer.body));
}

/** A 400 whose sentence begins with the field that is wrong. */
export function assertInvalid(answer: Answer, field: string): void {
  assertError(answer, 400, 'invalid_request');
  const named = answer.body.error_description.split(/[.:]/)[0];
  assert.equal(named, field, answer.body.error_description);
}

import assert from 'node:assert/strict';
import { changeEverything, type Known, type Take } from '../changes.ts';

const CALLERS = 6;

/** The one answer of an instance that is no more. */
class Unanswered extends Error {}

/** Callers that change things through the balancer without a pause, until they are stopped. */
export function startLoad(url: () => string, known: Known[]): { stop(): Promise<void> } {
  let isStopped = false;
  async function caller(): Promise<void> {
    while (!isStopped) {
      await changeEverything(url, known, acknowledged).catch((error: unknown) => {
        if (!(error instanceof Unanswered)) throw error;
      });
    }
  }
  const callers = Promise.all(Array.from({ length: CALLERS }, caller));
  // Told of by `stop`, whenever it comes.
  callers.catch(() => {});
  return {
    async stop() {
      isStopped = true;
      await callers;
    },
  };
}

const acknowledged: Take = async (request, expected) => {
  const { status, body } = await request;
  if (status === 502) throw new Unanswered();
  assert.equal(status, expected, JSON.stringify(body));
  return body;
};

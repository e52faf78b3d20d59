import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertEveryKind, assertKept, changeEverything, type Known } from '../changes.ts';
import { adminEnv, type Child, childFolder, startChild } from '../child.ts';
import { freePort } from '../free-port.ts';
import type { Answer } from '../harness.ts';

const ROUNDS = 2;
const CALLERS = 6;
/** After so many acknowledged changes the process is killed, wherever the callers are. */
const CHANGES = 60;

const folder = childFolder();
after(() => folder.remove());

/** Counts what is acknowledged and kills the process at the right time. */
interface Round {
  child: Child;
  known: Known[];
  acknowledged: number;
}

async function acknowledged(round: Round, request: Promise<Answer>, status: number): Promise<Answer['body']> {
  const answer = await request;
  assert.equal(answer.status, status, JSON.stringify(answer.body));
  round.acknowledged += 1;
  if (round.acknowledged === CHANGES) round.child.process.kill('SIGKILL');
  return answer.body;
}

/** Until the process is gone. */
async function caller(round: Round): Promise<void> {
  for (;;) {
    await changeEverything(
      () => round.child.url,
      round.known,
      (request, status) => acknowledged(round, request, status),
    );
  }
}

/** Runs until the process dies; what the callers then meet is the broken connection and nothing else. */
async function driveUntilKilled(child: Child): Promise<Known[]> {
  const round: Round = { child, known: [], acknowledged: 0 };
  const ends = await Promise.allSettled(Array.from({ length: CALLERS }, () => caller(round)));
  for (const end of ends) {
    assert.ok(end.status === 'rejected' && end.reason instanceof TypeError, String(Object.values(end)));
  }
  assert.equal((await child.exited).signal, 'SIGKILL');
  assert.ok(round.acknowledged >= CHANGES);
  return round.known;
}

test(`kill -9 amid concurrent changes, ${ROUNDS} times: whatever was acknowledged is there`, async () => {
  const port = await freePort();
  const known: Known[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const killed = await startChild({ folder, port, env: adminEnv });
    known.push(...(await driveUntilKilled(killed)));
    const { url, kill } = await startChild({ folder, port, env: adminEnv });
    for (const agent of known) await assertKept(url, agent);
    assert.equal((await kill('SIGTERM')).code, 0);
  }
  assertEveryKind(known);
});

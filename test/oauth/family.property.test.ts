import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { type Answer, startService, type TestAgent, type TestService } from '../harness.ts';
import { ACCESS_SECONDS, FamilyModel, type ModelToken, REFRESH_SECONDS } from './family.model.ts';
import { act, assertReason, assertRefused, refresh, requestToken, revoke } from './requests.ts';

let service: TestService;
before(async () => {
  service = await startService({
    env: {
      SIGNET_ACCESS_TOKEN_SECONDS: String(ACCESS_SECONDS),
      SIGNET_REFRESH_TOKEN_SECONDS: String(REFRESH_SECONDS),
    },
  });
});
after(() => service.stop());

interface History {
  agent: TestAgent;
  model: FamilyModel;
}

const tokensOf = ({ body }: Answer) => ({
  accessToken: body.access_token,
  refreshToken: body.refresh_token,
});

async function issue({ agent, model }: History): Promise<void> {
  const answer = await requestToken(service, agent);
  if (!model.isActive) return assertRefused(answer, 401, 'invalid_client');
  assert.equal(answer.status, 200);
  model.issue(tokensOf(answer));
}

async function use({ model }: History, token: ModelToken | undefined): Promise<void> {
  if (token === undefined) return;
  const isGood = model.reasonOf(token) === null;
  const answer = await refresh(service, token.value);
  if (isGood) {
    assert.equal(answer.status, 200);
    model.refresh(token, tokensOf(answer));
  } else {
    assertRefused(answer, 400, 'invalid_grant');
    model.refuse(token);
  }
}

/** One after the other as far as the model can tell: the first wins, every other is a reuse. */
async function useTwiceAtOnce({ model }: History, token: ModelToken | undefined): Promise<void> {
  if (token === undefined) return;
  const isGood = model.reasonOf(token) === null;
  const answers = await Promise.all([refresh(service, token.value), refresh(service, token.value)]);
  const won = answers.filter(({ status }) => status === 200);
  assert.equal(won.length, isGood ? 1 : 0);
  for (const answer of won) model.refresh(token, tokensOf(answer));
  model.refuse(token);
}

async function end({ model }: History, token: ModelToken | undefined): Promise<void> {
  if (token === undefined) return;
  assert.equal((await revoke(service, token.value)).status, 200);
  model.revoke(token);
}

async function rotate({ agent, model }: History): Promise<void> {
  const { body } = await act(service, agent, 'rotate');
  agent.clientSecret = body.client_secret;
  model.rotateSecret();
}

async function setActive({ agent, model }: History, isActive: boolean): Promise<void> {
  await act(service, agent, isActive ? 'reactivate' : 'deactivate');
  model.setActive(isActive);
}

type Step = fc.WithToStringMethod & { name: string; run(history: History): Promise<void> };

/** fast-check prints a step of a counterexample by its name. */
const step = (name: string, run: Step['run']): Step => ({ name, run, [fc.toStringMethod]: () => name });
const index = fc.nat({ max: 20 });
const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.constant(step('issue', issue)) },
  {
    weight: 6,
    arbitrary: fc.constant(step('refresh the newest', (on) => use(on, on.model.newest('refresh')))),
  },
  {
    weight: 3,
    arbitrary: index.map((n) => step(`refresh ${n}`, (on) => use(on, on.model.pick('refresh', n)))),
  },
  {
    weight: 1,
    arbitrary: index.map((n) =>
      step(`refresh ${n} twice at once`, (on) => useTwiceAtOnce(on, on.model.pick('refresh', n))),
    ),
  },
  {
    weight: 1,
    arbitrary: index.map((n) => step(`revoke access ${n}`, (on) => end(on, on.model.pick('access', n)))),
  },
  {
    weight: 1,
    arbitrary: index.map((n) => step(`revoke refresh ${n}`, (on) => end(on, on.model.pick('refresh', n)))),
  },
  { weight: 1, arbitrary: fc.constant(step('rotate', rotate)) },
  { weight: 1, arbitrary: fc.constant(step('deactivate', (on) => setActive(on, false))) },
  { weight: 2, arbitrary: fc.constant(step('reactivate', (on) => setActive(on, true))) },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom(1, 250, ACCESS_SECONDS, REFRESH_SECONDS / 2)
      .map((seconds) => step(`wait ${seconds} s`, async () => service.clock.advance({ seconds }))),
  },
);

async function run(history: readonly Step[]): Promise<void> {
  const model = new FamilyModel(() => service.clock.now());
  const on = { agent: await service.createAgent(), model };
  await issue(on);
  for (const { run: runStep } of history) await runStep(on);
  const names = history.map(({ name }) => name).join(', ');
  for (const [position, token] of model.tokens.entries()) {
    const message = `${token.kind} token of answer ${position >> 1} after: ${names}`;
    await assertReason(service, token.value, model.reasonOf(token), message);
  }
}

test('whatever happens to an agent and its tokens, each is worth what the rules say', async () => {
  const histories = fc.array(steps, { minLength: 4, maxLength: 20 });
  await fc.assert(fc.asyncProperty(histories, run), { numRuns: 20, endOnFailure: true });
});

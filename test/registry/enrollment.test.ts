import { expect, test } from 'vitest';
import { createManualClock } from '../support/clock.ts';
import { createAgent, ENROLL, startRegistry, startVerified, type TestAgent } from './world.ts';

const HOUR_MS = 3_600_000;

test('an enrolment token lets one machine in, once', async () => {
  const { registry, newToken, clock, store } = startRegistry();
  const token = await newToken();
  const [first, second] = [createAgent(clock), createAgent(clock)];
  expect(await registry.handleEnroll(first.enroll(token))).toMatchObject({
    kind: 'answered',
    status: 200,
    body: { id: first.id, gateway_token: expect.stringMatching(/^[0-9a-f]{64}$/) },
  });
  for (const agent of [first, second]) {
    const again = await registry.handleEnroll(agent.enroll(token));
    expect(again).toMatchObject({ status: 401, code: 'invalid_token' });
  }
  expect(store.state().enrollments).toEqual([]);
});

test('an enrolment token that many machines use at the same moment lets one in', async () => {
  const { registry, newToken, clock } = startRegistry();
  const token = await newToken();
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => registry.handleEnroll(createAgent(clock).enroll(token))),
  );
  expect(answers.filter(({ kind }) => kind === 'answered')).toHaveLength(1);
});

test.each([
  [HOUR_MS - 1, 'answered'],
  [HOUR_MS, 'refused'],
])('an enrolment token made %i ms ago is %s', async (ms, kind) => {
  const { registry, newToken, clock } = startRegistry();
  const token = await newToken();
  clock.advance(ms);
  const answer = await registry.handleEnroll(createAgent(clock).enroll(token));
  expect(answer).toMatchObject({ kind });
});

test('at most 1000 enrolment tokens are open, and expired ones make room', async () => {
  const { registry, newToken, clock, store } = startRegistry();
  const all = await Promise.all(Array.from({ length: 1005 }, () => registry.newEnrollment('u')));
  const refused = all.filter(({ kind }) => kind === 'refused');
  expect(refused).toHaveLength(5);
  expect(refused[0]).toMatchObject({ status: 429, code: 'too_many_enrollments' });
  clock.advance(HOUR_MS);
  await newToken();
  expect(store.state().enrollments).toHaveLength(1);
});

test('an enrolment that could not be written has not happened, and its token can be used again', async () => {
  const { registry, newToken, clock, store } = startRegistry();
  const token = await newToken();
  const agent = createAgent(clock);
  store.fail('the disk is full');
  const unwritten = await registry.handleEnroll(agent.enroll(token));
  expect(unwritten).toMatchObject({ status: 503, code: 'registry_unwritten' });
  expect(registry.reason()).toBe('not_configured');
  store.fail(null);
  expect(await registry.handleEnroll(agent.enroll(token))).toMatchObject({ kind: 'answered' });
});

test('an enrolment of the same key again, with a new token, replaces the gateway token', async () => {
  const { registry, agent, newToken, news } = await startVerified();
  const [before] = registry.targets();
  const answer = await registry.handleEnroll(agent.enroll(await newToken()));
  if (answer.kind === 'refused') throw new Error(answer.message);
  expect(answer.body.id).toBe(agent.id);
  expect(answer.body.gateway_token).not.toBe(before?.gatewayToken);
  // What was proved was proved with the old one.
  expect(registry.targets()).toEqual([]);
  expect(registry.get(agent.id)?.verification.status).toBe('pending');
  expect(news.at(-1)).toEqual([agent.id, ['enrolled']]);
});

test('a repeated enrolment never lowers the sequence, so that no earlier heartbeat counts twice', async () => {
  const { registry, join, newToken, beat, clock } = startRegistry();
  const agent = createAgent(clock);
  await join(agent);
  agent.sequence = 100;
  await beat(agent);
  agent.sequence = 4;
  await registry.handleEnroll(agent.enroll(await newToken()));
  expect(await beat(agent)).toMatchObject({
    status: 403,
    code: 'sequence_reused',
    headers: { 'x-gateway-sequence': '101' },
  });
});

test('an enrolment gives each machine a token of its own, of which nothing is on disk', async () => {
  const { registry, newToken, clock, store } = startRegistry();
  const tokens = new Set<string>();
  for (const agent of [createAgent(clock), createAgent(clock)]) {
    const answer = await registry.handleEnroll(agent.enroll(await newToken()));
    if (answer.kind === 'refused') throw new Error(answer.message);
    tokens.add(answer.body.gateway_token);
  }
  expect(tokens.size).toBe(2);
  for (const token of tokens) expect(JSON.stringify(store.state())).not.toContain(token);
});

const send = async (make: (agent: TestAgent, token: string) => ReturnType<TestAgent['enroll']>) => {
  const world = startRegistry();
  const agent = createAgent(world.clock);
  const token = await world.newToken();
  const answer = await world.registry.handleEnroll(make(agent, token));
  // Whatever was wrong, the token is still good.
  expect(world.store.state().enrollments).toHaveLength(1);
  const after = await world.registry.handleEnroll(agent.enroll(token));
  expect(after.kind).toBe('answered');
  return answer;
};
const signedBody = (agent: TestAgent, value: unknown, { privateKey } = agent) =>
  agent.message(ENROLL, Buffer.from(JSON.stringify(value)), { privateKey });

test.each<[what: string, body: (agent: TestAgent, token: string) => unknown, param: string]>([
  ['no token', ({ publicKey }) => ({ public_key: publicKey }), 'token'],
  ['a short token', ({ publicKey }) => ({ public_key: publicKey, token: '0f' }), 'token'],
  ['no key', (_agent, token) => ({ token }), 'public_key'],
  ['a bad key', (_agent, token) => ({ token, public_key: 'x'.repeat(43) }), 'public_key'],
])('an enrolment message with %s is refused, and the field named', async (_what, body, param) => {
  const answer = await send((agent, token) => signedBody(agent, body(agent, token)));
  expect(answer).toMatchObject({ status: 400, code: 'invalid_request', param });
});

test('an enrolment message that is signed by another key than its own is refused', async () => {
  const stranger = createAgent(createManualClock());
  const answer = await send((agent, token) =>
    signedBody(agent, { token, public_key: agent.publicKey }, stranger),
  );
  expect(answer).toMatchObject({ status: 401, code: 'invalid_signature' });
});

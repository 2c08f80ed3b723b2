import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { gatewayTokenOf } from '../../main/registry/provider-table.ts';
import { chat, chatStream, expectServed, HELLO } from '../support/client.ts';
import { type Machine, startMachine, startTier, type Tier } from '../support/tier.ts';
import {
  answers,
  chunk,
  cut,
  error,
  hang,
  REFUSED_URL,
  ROLE,
  startUpstream,
} from '../support/upstream.ts';
import { at } from '../support/words.ts';
import { turns } from '../support/report.ts';
import { callsOf, startTierScene } from '../support/scene.ts';

/** What the gateway shows the agent of a machine. */
function tokenFor({ stored }: Machine, { dataDirectory }: Tier): string {
  const secret = readFileSync(join(dataDirectory, 'gateway-secret'), 'utf8').trim();
  return gatewayTokenOf(secret, stored);
}

const NEVER = answers('never asked');
const AUTHORIZATION = { authorization: 'Bearer of-the-caller' };

test('a verified machine is called at its verified address, with its token and the caller’s own authorization', async () => {
  const machine = await startMachine(answers('hello from home'));
  const tier = await startTier([machine]);
  const forged = { cookie: 'a=b', 'x-gateway-token': 'of-the-caller' };
  const answer = await chat(tier.url, HELLO, { ...AUTHORIZATION, ...forged });
  expectServed(answer, 'local');
  expect(answer.headers['x-gateway-provider']).toBe(machine.id);
  expect(answer.text).toContain('"content":"hello from home"');
  const { path, headers, headerNames } = await machine.call(1);
  expect(path).toBe('/v1/chat/completions');
  expect(headers).toMatchObject({ ...AUTHORIZATION, 'x-gateway-token': tokenFor(machine, tier) });
  expect(headerNames.filter((name) => name === 'x-gateway-token')).toHaveLength(1);
  expect(headers).not.toHaveProperty('cookie');
});

test('a verified machine gets a token of its own, and no other upstream gets one', async () => {
  const tier = await startTierScene(
    { a: error(503), b: error(503) },
    { hosted_a: error(503), ondemand: error(400) },
    { HOSTED_A_API_KEY: 'hosted-key' },
  );
  const { a, b } = tier.own;
  const { hosted_a: hosted, ondemand } = tier.up;
  await chat(tier.url, HELLO, AUTHORIZATION);
  const tokens = [a, b].map(({ calls }) => calls[0]?.headers['x-gateway-token']);
  expect(tokens).toEqual([tokenFor(a, tier), tokenFor(b, tier)]);
  expect(new Set(tokens).size).toBe(2);
  const warmed = await ondemand.get(1);
  for (const { headers } of [await hosted.call(1), await ondemand.call(1), warmed]) {
    expect(headers).not.toHaveProperty('x-gateway-token');
    expect(headers.authorization).not.toBe(AUTHORIZATION.authorization);
  }
  expect((await hosted.call(1)).headers.authorization).toBe('Bearer hosted-key');
});

test('three machines are called at most, then the hosted upstream answers, and every failure is named in order', async () => {
  const machines = { first: error(503), second: error(502), third: error(504), fourth: NEVER };
  const paid = { hosted_b: answers('paid for') };
  const { url, own } = await startTierScene(machines, paid, at({ hosted_a: REFUSED_URL }));
  const answer = await chat(url);
  expect(callsOf(own)).toEqual({ first: 1, second: 1, third: 1, fourth: 0 });
  const { first, second, third } = own;
  const failed = `local/${first.id}=http_503; local/${second.id}=http_502; local/${third.id}=http_504`;
  expectServed(answer, 'hosted_b', `${failed}; hosted_a=unreachable`);
  expect(answer.headers).not.toHaveProperty('x-gateway-provider');
});

test('a machine’s refusal that a hosted upstream repeats is passed on', async () => {
  const tier = await startTierScene(
    { dead: error(503), strict: error(422, 'no!') },
    { hosted_a: error(400, 'nor here'), hosted_b: NEVER },
  );
  const { dead, strict } = tier.own;
  const answer = await chat(tier.url);
  const reason = `local/${dead.id}=http_503; local/${strict.id}=http_422; hosted_a=http_400`;
  expect(answer).toMatchObject({ status: 422, upstream: 'local', reason });
  expect(answer.headers['x-gateway-provider']).toBe(strict.id);
  expect(answer.text).toContain('no!');
  expect(tier.up.hosted_b.calls).toHaveLength(0);
});

test('a machine that fails after its first content is not followed by another, and counts at itself and the pool', async () => {
  const machines = { broken: cut(ROLE, chunk({ content: 'half' })), other: NEVER };
  const tier = await startTierScene(machines, { hosted_a: NEVER });
  const { broken, other } = tier.own;
  const answer = await chatStream(tier.url);
  expectServed(answer, 'local');
  expect(answer.text).toContain('half');
  expect(answer.text).toContain('"error"');
  expect(answer.text).not.toContain('[DONE]');
  expect([other.calls.length, tier.up.hosted_a.calls.length]).toEqual([0, 0]);
  const { circuits } = await tier.status();
  for (const id of ['local', broken.id]) {
    expect(circuits[id]).toMatchObject({ fails: 1, successes: 0, consecutiveFails: 1 });
  }
  expect(circuits[other.id]).toMatchObject({ fails: 0, successes: 0 });
});

test('the warm-up of ondemand starts once the local pool is lost, and not while its machines are still called', async () => {
  const tier = await startTierScene(
    { first: error(503), second: hang },
    { hosted_a: answers('paid for'), ondemand: NEVER },
  );
  const answer = chat(tier.url);
  const call = await tier.own.second.call(1);
  expect((await tier.status()).ondemand_warmup).toBe('idle');
  error(503)(call);
  expect(await answer).toMatchObject({ status: 200, upstream: 'hosted_a' });
  expect((await tier.up.ondemand.get(1)).path).toBe('/health');
});

test.each([1, 2, 3])(
  'each of %d silent machines has the whole timeout, so that two are no worse than one',
  async (count) => {
    const machines = await Promise.all(Array.from({ length: count }, () => startMachine(hang)));
    const hosted = await startUpstream(answers('paid for'));
    const settings = { ...at({ hosted_a: hosted.url }), KEEP_ALIVE_MS: '0', HEDGE: 'off' };
    const tier = await startTier(machines, settings);
    const answer = chat(tier.url);
    for (const [turn, machine] of machines.entries()) {
      await machine.call(1);
      await turns(tier);
      // Not a moment before its time.
      tier.clock.advance(60_000 - 1);
      await turns(tier);
      expect((machines[turn + 1] ?? hosted).calls).toHaveLength(0);
      tier.clock.advance(1);
    }
    const reason = machines.map(({ id }) => `local/${id}=timeout`).join('; ');
    expectServed(await answer, 'hosted_a', reason);
  },
);

test.each([500, 502])('a lone %d of a machine without peers is retried there', async (code) => {
  const machine = await startMachine(error(code), answers('better'));
  const tier = await startTier([machine]);
  const answer = chat(tier.url);
  await machine.call(1);
  tier.clock.advance(await tier.clock.timer(50, 200));
  expectServed(await answer, 'local');
  expect(machine.calls).toHaveLength(2);
  expect((await tier.status()).circuits).toMatchObject({
    local: { fails: 0, successes: 1 },
    [machine.id]: { fails: 1, successes: 1, consecutiveFails: 0 },
  });
});

import { expect, test } from 'vitest';
import { chat, expectServed, HELLO } from '../support/client.ts';
import {
  MODEL,
  startMachine,
  startMachineAs,
  startTier,
  type Machine,
  type Tier,
} from '../support/tier.ts';
import { answers, error, type Script } from '../support/upstream.ts';
import { startTierScene } from '../support/scene.ts';
import { turns } from '../support/report.ts';

/** The agent does not know the gateway's token. */
const unauthorized = (status: number): Script =>
  error(status, 'who are you?', null, { 'x-gateway-agent': 'unauthorized' });

test.each([401, 403])(
  'an agent that refuses the gateway (%d) falls back to the next machine, and is not called again',
  async (status) => {
    const tier = await startTierScene({ closed: unauthorized(status), open: answers('hi') });
    const { closed, open } = tier.own;
    expectServed(await chat(tier.url), 'local', `local/${closed.id}=credentials`);
    expect((await tier.status()).circuits[closed.id]).toMatchObject({ fails: 0, open: false });
    expect(await chat(tier.url)).toMatchObject({ status: 200, reason: 'none' });
    tier.clock.advance(599_000);
    expect(await chat(tier.url)).toMatchObject({ status: 503 });
    expect([closed.calls.length, open.calls.length]).toEqual([1, 2]);
  },
);

test.each([
  [401, 'a key, please', 'invalid_api_key'],
  [403, 'a key, please', 'invalid_api_key'],
  // A LiteLLM of one's own (BerriAI/litellm, proxy/auth): a guest must not get it from a host that the owner pays.
  [401, 'key not allowed to access model m', 'key_model_access_denied'],
])(
  'an engine’s refusal of the caller (%d: %s) is passed on unchanged, and no other upstream is called',
  async (status, message, code) => {
    const never = answers('never asked');
    const machines = { strict: error(status, message, code), other: never };
    const tier = await startTierScene(machines, { hosted_a: never, ondemand: never });
    const { strict, other } = tier.own;
    const answer = await chat(tier.url);
    expect(answer).toMatchObject({ status, upstream: 'local', reason: 'none' });
    expect(answer.headers['x-gateway-provider']).toBe(strict.id);
    expect(JSON.parse(answer.text)).toEqual({ error: { message, type: 'x', code, param: null } });
    expect([other.calls.length, tier.up.hosted_a.calls.length]).toEqual([0, 0]);
    const { circuits, ondemand_warmup: warmup } = await tier.status();
    expect(warmup).toBe('idle');
    for (const id of ['local', strict.id]) {
      expect(circuits[id]).toMatchObject({ fails: 0, successes: 0, open: false });
    }
    expect(await chat(tier.url)).toMatchObject({ status });
  },
);

test('a machine that repeats the gateway’s token in a refusal does not show it to the caller', async () => {
  const tokens: string[] = [];
  const machine = await startMachine(({ res, headers }) => {
    const token = String(headers['x-gateway-token']);
    tokens.push(token);
    res.writeHead(400, { 'content-type': 'application/json', 'request-id': token });
    res.end(JSON.stringify({ error: { message: `what is ${token}?` } }));
  });
  const { headers, ...answer } = await chat((await startTier([machine])).url);
  expect(tokens[0]).toMatch(/^[0-9a-f]{64}$/);
  expect(JSON.parse(answer.text)).toEqual({ error: { message: 'what is [secret]?' } });
  expect(JSON.stringify(headers)).not.toContain(tokens[0]);
});

const lastCheck = async (tier: Tier, { id }: Machine) =>
  (await tier.provider(id)).verification.last_check;

/** Resolves when the registry has verified the machine once more. */
function checkedAgain(tier: Tier, machine: Machine, before: string | null): Promise<void> {
  return new Promise((resolve) => {
    const look = async () => {
      if ((await lastCheck(tier, machine)) === before) return;
      unsubscribe();
      resolve();
    };
    const unsubscribe = tier.host.subscribe(() => void look());
    void look();
  });
}

test.each([400, 415, 422])(
  'a machine that refuses three requests in a row (%d) is verified again, and its circuit stays closed',
  async (status) => {
    const odd = await startMachine(error(status));
    const tier = await startTier([odd]);
    tier.clock.advance(1000);
    const before = await lastCheck(tier, odd);
    for (let asked = 0; asked < 3; asked += 1) await chat(tier.url);
    tier.clock.advance(1);
    await checkedAgain(tier, odd, before);
    expect((await tier.status()).circuits[odd.id]).toMatchObject({ fails: 0, open: false });
  },
);

test.each(['busy', 'paused', 'draining'])(
  'a machine that is %s gets no failure, and no request for two seconds',
  async (code) => {
    const busy = await startMachine(error(503, code, code, { 'retry-after': '30' }), answers('a'));
    const free = await startMachine(answers('b'));
    const tier = await startTier([busy, free]);
    expect(await chat(tier.url)).toMatchObject({ status: 200, reason: `local/${busy.id}=busy` });
    expect((await tier.status()).circuits).toMatchObject({
      local: { fails: 0, successes: 1 },
      [busy.id]: { fails: 0, successes: 0, open: false },
    });
    tier.clock.advance(1999);
    expect(await chat(tier.url)).toMatchObject({ status: 200, reason: 'none' });
    expect([busy.calls.length, free.calls.length]).toEqual([1, 2]);
    tier.clock.advance(1);
    await Promise.all([chat(tier.url), chat(tier.url), chat(tier.url)]);
    expect(busy.calls.length).toBeGreaterThan(1);
  },
);

test('a local pool of busy machines gives a 503 with a time to come back if no other upstream is left, and none is verified again', async () => {
  const machine = await startMachine(error(503, 'busy'));
  const tier = await startTier([machine, await startMachine(error(503, 'busy'))]);
  const before = await lastCheck(tier, machine);
  for (let n = 0; n < 4; n += 1) {
    tier.clock.advance(2000);
    const answer = await chat(tier.url);
    expect(answer).toMatchObject({ status: 503, upstream: 'none' });
    expect(answer.headers['retry-after']).toBe('2');
    expect(JSON.parse(answer.text)).toMatchObject({ error: { code: 'upstream_busy' } });
  }
  await turns(tier, 5);
  expect(await lastCheck(tier, machine)).toBe(before);
});

const offering = async (...models: string[]) => {
  const record = { current_model: models[0] ?? null, models: models.toSorted() };
  const machine = await startMachineAs({ record });
  machine.script = answers('hi');
  return machine;
};

test.each([
  ['the caller’s where it is offered', 'b', 'b'],
  ['the machine’s own where the caller’s is not offered', 'unknown', 'c'],
  ['the machine’s own where the caller names none', null, 'c'],
])('the model that a machine gets is %s', async (_says, asked, sent) => {
  const machine = await offering('c', 'b', 'a');
  await chat((await startTier([machine])).url, asked === null ? HELLO : { ...HELLO, model: asked });
  expect((await machine.call(1)).json['model']).toBe(sent);
});

test('a missing model excludes requests for that model at that machine, and no others', async () => {
  const [a, b] = [await offering('x', 'y'), await offering('x', 'y')];
  a.script = ({ json, ...call }) =>
    (json['model'] === 'x' ? error(404, 'no such model') : answers('hi'))({ json, ...call });
  const tier = await startTier([a, b]);
  const ask = (model: string) => chat(tier.url, { ...HELLO, model });
  expectServed(await ask('x'), 'local', `local/${a.id}=model_not_found`);
  expect(await ask('x')).toMatchObject({ status: 200, reason: 'none' });
  expect([a.calls.length, b.calls.length]).toEqual([1, 2]);
  b.script = error(503);
  expect(await ask('y')).toMatchObject({ status: 200, upstream: 'local' });
  expect((await tier.status()).circuits[a.id]).toMatchObject({ fails: 0, successes: 1 });
});

test('a model that one machine offers is asked for there, whatever the others could stand in with', async () => {
  const others = [await startMachine(answers('other')), await startMachine(answers('other'))];
  const its = await startMachineAs({ record: { models: ['rare', MODEL] } }, answers('its'));
  const tier = await startTier([...others, its]);
  for (let n = 0; n < 4; n += 1) {
    const answer = await chat(tier.url, { ...HELLO, model: 'rare' });
    expect(answer.headers['x-gateway-provider']).toBe(its.id);
  }
  expect(its.calls.map(({ json: body }) => body['model'])).toEqual(Array(4).fill('rare'));
});

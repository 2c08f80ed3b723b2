import { cpSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { KeyLimitUse, KeyList } from '#shared/keys.ts';
import type { Log } from '../../main/platform/log.ts';
import { chat, HELLO, startChat } from '../support/client.ts';
import { controlOf } from '../support/control.ts';
import { createManualClock } from '../support/clock.ts';
import { startIn, temporaryDirectory, type TestGateway } from '../support/gateway.ts';
import { bearer, postJson } from '../support/http.ts';
import { type Script, startUpstream } from '../support/upstream.ts';
import { costly, history } from '../support/usage.ts';
import { startBefore } from '../support/scene.ts';

type Limits = Readonly<Record<string, number | null>>;

/** What each answer uses. */
const TOKENS = 260;

/** The owner's hand on the keys of a gateway. */
function ownerOf(gateway: TestGateway) {
  const { call, key, read } = controlOf(gateway);
  return {
    add: async (name: string, limits: Limits = {}) => bearer(await key(name, limits)),
    limit: async (name: string, limits: Limits) => {
      const { text } = await call('PATCH', `keys/${name}`, { limits });
      return (JSON.parse(text) as { readonly limits: readonly KeyLimitUse[] }).limits;
    },
    used: async (name: string) => {
      const { keys } = await read<KeyList>('keys');
      const found = keys.find((each) => each.name === name);
      return found?.limits.map((each) => [each.name, each.used]) ?? [];
    },
  };
}

async function started(log?: Log, script: Script = costly) {
  const clock = createManualClock();
  // Far from the end of a month in every time zone.
  clock.advance(10 * 24 * 3_600_000);
  const { gateway, a } = await startBefore({ a: script }, {}, clock, log);
  const statuses = async (key: Record<string, string>, times: number) => {
    const all = [];
    for (let n = 0; n < times; n += 1) all.push((await chat(gateway.url, HELLO, key)).status);
    return all;
  };
  return { ...gateway, ...ownerOf(gateway), upstream: a, clock, statuses };
}

test.each([
  ['/v1/chat/completions', HELLO],
  ['/v1/responses', { model: 'm', input: 'hi' }],
  ['/v1/embeddings', { model: 'm', input: 'hi' }],
  ['/v1/messages', { model: 'm', max_tokens: 5, ...HELLO }],
])(
  'a key at its limit gets a 429 at %s in the shape of the protocol, and no upstream is called',
  async (path, body) => {
    const { url, add, upstream, clock } = await started();
    const key = await add('laptop', { requestsDay: 1 });
    await chat(url, HELLO, key);
    clock.advance(3_600_000);
    const answer = await postJson(url + path, body, key);
    const now = new Date(clock.now());
    const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1);
    expect(answer).toMatchObject({
      status: 429,
      headers: {
        'retry-after': `${(midnight.getTime() - now.getTime()) / 1000}`,
        'x-should-retry': 'false',
        'x-gateway-upstream': 'none',
      },
    });
    const told = JSON.parse(answer.text) as Record<string, unknown>;
    const message = `The key "laptop" has reached its limit (requests a day: 1), which resets at ${midnight.toISOString()}. The gateway's owner can raise it with "inglenook keys limit laptop".`;
    const error = { type: 'rate_limit_error', code: 'key_limit_reached', message };
    expect(told).toMatchObject(path === '/v1/messages' ? { type: 'error', error } : { error });
    expect(upstream.calls).toHaveLength(1);
  },
);

test('a key at its limit holds up no other key, and may call again when the limit is raised, lifted, or begins again', async () => {
  const { add, limit, statuses, clock } = await started();
  const [key, phone] = [await add('laptop', { requestsDay: 1 }), await add('phone')];
  expect(await statuses(key, 2)).toEqual([200, 429]);
  expect(await statuses(phone, 2)).toEqual([200, 200]);
  const [raised] = await limit('laptop', { requestsDay: 2, tokensMonth: 5 * TOKENS });
  expect([raised?.name, raised?.limit, raised?.used]).toEqual(['requestsDay', 2, 1]);
  expect(await statuses(key, 2)).toEqual([200, 429]);
  clock.advance(Date.parse(raised?.resetsAt ?? '') - clock.now());
  expect(await statuses(key, 3)).toEqual([200, 200, 429]);
  const [month] = await limit('laptop', { requestsDay: null });
  expect([month?.name, month?.used]).toEqual(['tokensMonth', 4 * TOKENS]);
  expect(await statuses(key, 2)).toEqual([200, 429]);
  clock.advance(Date.parse(month?.resetsAt ?? '') - clock.now());
  expect(await statuses(key, 1)).toEqual([200]);
});

test('a request limit is never exceeded, however many requests come at once', async () => {
  const { url, add, upstream } = await started();
  const key = await add('laptop', { requestsDay: 5 });
  const all = Array.from({ length: 20 }, () => startChat(url, HELLO, key).answer);
  const answered = (await Promise.all(all)).filter(({ status }) => status === 200);
  expect([answered.length, upstream.calls.length]).toEqual([5, 5]);
});

test('a token limit is exceeded only by what was running when it was reached', async () => {
  const RUNNING = 4;
  const held: (() => void)[] = [];
  const holds: Script = (call) => void held.push(() => costly(call));
  const { url, add, used, upstream, statuses } = await started(undefined, holds);
  const key = await add('laptop', { tokensDay: TOKENS });
  const pending = Array.from({ length: RUNNING }, () => startChat(url, HELLO, key));
  await upstream.call(RUNNING);
  held[0]?.();
  await Promise.race(pending.map(({ answer }) => answer));
  expect(await statuses(key, 2)).toEqual([429, 429]);
  for (const release of held.slice(1)) release();
  await Promise.all(pending.map(({ answer }) => answer));
  expect(await used('laptop')).toEqual([['tokensDay', RUNNING * TOKENS]]);
});

test('the use of a key is on disk within a second, also after the process is killed', async () => {
  const clock = createManualClock();
  const upstream = await startUpstream(costly);
  const settings = { HOSTED_A_BASE_URL: upstream.url };
  const first = await startIn(temporaryDirectory(), settings, clock);
  const owner = ownerOf(first);
  const key = await owner.add('laptop', { requestsMonth: 2, tokensDay: 10_000 });
  for (let n = 0; n < 2; n += 1) await chat(first.url, HELLO, key);
  clock.advance(1000);
  // The thread of the database answers in turn: the write before this question is done.
  await history(first.url, key);
  const left = temporaryDirectory();
  cpSync(first.dataDirectory, left, { recursive: true });
  const second = await startIn(left, settings, clock);
  expect((await chat(second.url, HELLO, key)).status).toBe(429);
  const usedUp = { requestsMonth: 2, tokensDay: 2 * TOKENS };
  expect(await ownerOf(second).used('laptop')).toEqual(Object.entries(usedUp));
});

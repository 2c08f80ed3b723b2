import { expect, test } from 'vitest';
import type { UpstreamId } from '#shared/ids.ts';
import type { Sighting } from '#shared/condition.ts';

import { chat } from '../support/client.ts';
import { startControlled } from '../support/control.ts';
import { startMachine, startTier } from '../support/tier.ts';
import { createManualClock } from '../support/clock.ts';
import { readFeed } from '../support/feed.ts';
import type { TestGateway } from '../support/gateway.ts';
import {
  answers,
  error,
  lists,
  REFUSED_URL,
  startUpstream,
  type Upstream,
} from '../support/upstream.ts';
import { at } from '../support/words.ts';

const PAUSE_MS = 30_000;
const seen = ({ host }: TestGateway, id: UpstreamId): Sighting => host.snapshot().sightings[id];
const ANSWERED = { kind: 'answered', by: 'check' } as const;
const SERVED = { kind: 'answered', by: 'request' } as const;

/** An upstream that answers its list of models, and chats. */
const startWell = async (script = answers('hello')): Promise<Upstream> =>
  Object.assign(await startUpstream(script), { answerGet: lists('m') });

const chatsOf = (upstream: Upstream) => upstream.calls.length;
const listsAskedOf = ({ gets }: Upstream) => gets.filter(({ path }) => path === '/models').length;

test('an upstream that was never called is untested, and gets no request while nobody watches', async () => {
  const clock = createManualClock();
  const up = await startWell();
  const gateway = await startControlled(at({ hosted_a: up.url }), clock);
  clock.advance(10 * PAUSE_MS);
  expect(seen(gateway, 'hosted_a')).toEqual({ kind: 'untested' });
  expect([up.gets, up.calls]).toEqual([[], []]);
});

test('an unasked upstream is seen to answer by its list of models, every 30 s, and never by a completion', async () => {
  const clock = createManualClock();
  const up = await startWell();
  const gateway = await startControlled(at({ hosted_a: up.url }), clock);
  const reader = await readFeed(gateway.url);
  await expect.poll(() => seen(gateway, 'hosted_a')).toEqual(ANSWERED);
  clock.advance(PAUSE_MS - 1);
  await gateway.status();
  expect(listsAskedOf(up)).toBe(1);
  await expect
    .poll(() => {
      clock.advance(PAUSE_MS);
      return listsAskedOf(up);
    })
    .toBeGreaterThan(2);
  expect(chatsOf(up)).toBe(0);
  reader.leave();
});

test('an unasked upstream with a refused key or a dead port fails, and a web page shows nothing', async () => {
  const [refusing, page] = [await startWell(), await startWell()];
  refusing.answerGet = error(401);
  page.answerGet = ({ res }) =>
    void res.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Welcome</h1>');
  const gateway = await startControlled(
    at({ local: REFUSED_URL, hosted_a: refusing.url, hosted_b: page.url }),
  );
  await readFeed(gateway.url);
  const failed = (reason: string) => ({ kind: 'failed', by: 'check', reason });
  await expect.poll(() => seen(gateway, 'local')).toEqual(failed('unreachable'));
  await expect.poll(() => seen(gateway, 'hosted_a')).toEqual(failed('credentials'));
  await page.get(1);
  expect(seen(gateway, 'hosted_b')).toEqual({ kind: 'untested' });
});

test('the gateway checks an upstream that is idle, and not one that serves', async () => {
  const clock = createManualClock();
  const up = await startWell();
  const gateway = await startControlled(at({ hosted_a: up.url }), clock);
  await chat(gateway.url);
  expect(seen(gateway, 'hosted_a')).toEqual(SERVED);
  await readFeed(gateway.url);
  await clock.timer(PAUSE_MS, PAUSE_MS);
  expect(listsAskedOf(up)).toBe(0);
  clock.advance(PAUSE_MS);
  await up.get(1);
  expect(seen(gateway, 'hosted_a')).toEqual(SERVED);
});

test('an address saved in the settings is checked at once, and what was known is forgotten', async () => {
  const up = await startWell();
  const gateway = await startControlled(at({ hosted_b: up.url }));
  await readFeed(gateway.url);
  await gateway.set({ hosted_a: { baseUrl: up.url } });
  await expect.poll(() => seen(gateway, 'hosted_a')).toEqual(ANSWERED);
  await chat(gateway.url);
  expect(seen(gateway, 'hosted_a')).toEqual(SERVED);
  await gateway.set({ hosted_a: { baseUrl: REFUSED_URL } });
  await expect
    .poll(() => seen(gateway, 'hosted_a'))
    .toEqual({ kind: 'failed', by: 'check', reason: 'unreachable' });
});

test('an engine that is back is seen to be within 5 s, without a request', async () => {
  const clock = createManualClock();
  const up = await startWell();
  const gateway = await startControlled(at({ local: up.url }), clock);
  await up.close();
  await chat(gateway.url);
  expect(seen(gateway, 'local')).toEqual({ kind: 'failed', by: 'request', reason: 'unreachable' });
  await readFeed(gateway.url);
  await expect.poll(() => seen(gateway, 'local').kind).toBe('failed');
  await up.reopen();
  // Its two clocks, for health and for models, tick at the same pace. On a busy machine time may overtake a check.
  await expect
    .poll(() => {
      clock.advance(5000);
      return seen(gateway, 'local');
    })
    .toEqual(ANSWERED);
});

test('a list of models does not clear an upstream that fails its completions, and a passed test does', async () => {
  const up = await startWell(error(500, 'broken'));
  const gateway = await startControlled(at({ hosted_a: up.url }));
  await chat(gateway.url);
  await readFeed(gateway.url);
  await up.get(1);
  await gateway.status();
  expect(seen(gateway, 'hosted_a')).toEqual({ kind: 'failed', by: 'request', reason: 'http_500' });
  up.script = answers('well');
  const { text } = await gateway.post('upstreams/hosted_a/test');
  expect(text).toContain('"model":null');
  expect(seen(gateway, 'hosted_a').kind).toBe('failed');
  await gateway.set({ hosted_a: { model: 'm' } });
  await gateway.post('upstreams/hosted_a/test');
  expect(seen(gateway, 'hosted_a')).toEqual(ANSWERED);
});

test('a list of models takes nothing back from a test that failed', async () => {
  const clock = createManualClock();
  const up = await startWell(error(500, 'broken'));
  const gateway = await startControlled(at({ local: up.url }), clock);
  const reader = await readFeed(gateway.url);
  await expect.poll(() => seen(gateway, 'local')).toEqual(ANSWERED);
  await gateway.post('upstreams/local/test');
  const failed = { kind: 'failed', by: 'check', reason: 'http_500' };
  expect(seen(gateway, 'local')).toEqual(failed);
  const before = up.gets.length;
  clock.advance(PAUSE_MS);
  await up.get(before + 1);
  await gateway.status();
  expect(seen(gateway, 'local')).toEqual(failed);
  up.script = answers('hello');
  await gateway.post('upstreams/local/test');
  expect(seen(gateway, 'local')).toEqual(ANSWERED);
  reader.leave();
});

test('an engine that a test finds busy is skipped for two seconds and then counts as well', async () => {
  const clock = createManualClock();
  const up = await startWell(error(503, 'server busy, please try again'));
  const other = await startWell();
  const gateway = await startControlled(at({ local: up.url, hosted_a: other.url }), clock);
  const reader = await readFeed(gateway.url);
  await expect.poll(() => seen(gateway, 'local')).toEqual(ANSWERED);
  await gateway.post('upstreams/local/test');
  const local = () => gateway.host.snapshot().judgement.conditions.local.kind;
  expect(local()).toBe('skipped');
  expect(await chat(gateway.url)).toMatchObject({ upstream: 'hosted_a' });
  expect(chatsOf(up)).toBe(1);
  clock.advance(2001);
  expect(local()).toBe('closed');
  reader.leave();
});

test('an engine that dies while it is idle is seen to be down when its models are next read', async () => {
  const clock = createManualClock();
  const up = await startWell();
  const gateway = await startControlled(at({ local: up.url }), clock);
  const reader = await readFeed(gateway.url);
  await expect.poll(() => seen(gateway, 'local')).toEqual(ANSWERED);
  clock.advance(1000);
  await chat(gateway.url);
  expect(seen(gateway, 'local')).toEqual(SERVED);
  up.answerGet = ({ res }) => void res.socket?.destroy();
  // In its turn it has served within the last 30 s, and is not checked; its models are read 30 s after the last time.
  clock.advance(PAUSE_MS);
  const down = { kind: 'failed', by: 'check', reason: 'unreachable' };
  await expect.poll(() => seen(gateway, 'local')).toEqual(down);
  reader.leave();
});

test('a machine that fails the test of local counts as failed, and so does the pool if it has no other', async () => {
  const clock = createManualClock();
  const machine = await startMachine(error(500, 'broken'));
  const gateway = await startTier([machine], {}, clock);
  clock.advance(1);
  await gateway.post('upstreams/local/test');
  expect(seen(gateway, 'local')).toEqual({ kind: 'failed', by: 'check', reason: 'http_500' });
});

import { expect, test } from 'vitest';
import type { UpstreamId } from '#shared/ids.ts';
import type { Sighting } from '#shared/condition.ts';
import { chat, startChat } from '../support/client.ts';
import { startMachine, startTier } from '../support/tier.ts';
import { readFeed } from '../support/feed.ts';
import type { TestGateway } from '../support/gateway.ts';
import {
  answers,
  chunk,
  DONE,
  error,
  lists,
  type Script,
  REFUSED_URL,
  type Upstream,
  json,
  STOP,
  stall,
} from '../support/upstream.ts';
import { at } from '../support/words.ts';
import { startStill, startBefore, STREAM } from '../support/scene.ts';

const PAUSE_MS = 30_000;
/** Of an engine of the owner's own. */
const OWN_PAUSE_MS = 5000;
const seen = ({ host }: TestGateway, id: UpstreamId): Sighting => host.snapshot().sightings[id];
const ANSWERED = { kind: 'answered', by: 'check' } as const;
const SERVED = { kind: 'answered', by: 'request' } as const;
const failed = (by: 'check' | 'request', reason: string) => ({ kind: 'failed', by, reason });

/** An upstream that answers its list of models, and chats. */
const well = (script: Script = answers('hello')) => ({ script, get: lists('m') });

const listsAskedOf = ({ gets }: Upstream) => gets.filter(({ path }) => path === '/models').length;

test('an upstream that was never called is untested, and gets no request while nobody watches', async () => {
  const { gateway, a: up, clock } = await startStill({ a: well() });
  clock.advance(10 * PAUSE_MS);
  expect(seen(gateway, 'hosted_a')).toEqual({ kind: 'untested' });
  expect([up.gets, up.calls]).toEqual([[], []]);
});

test('an unasked upstream is seen to answer by its list of models, every 30 s, and never by a completion', async () => {
  const { gateway, a: up, clock } = await startStill({ a: well() });
  await readFeed(gateway.url);
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
  expect(up.calls).toHaveLength(0);
});

test('an unasked upstream with a refused key or a dead port fails, and a web page shows nothing', async () => {
  const page = json(200, '<h1>Welcome</h1>', { 'content-type': 'text/html' });
  const { gateway, b } = await startBefore(
    { a: { ...well(), get: error(401) }, b: { ...well(), get: page } },
    at({ local: REFUSED_URL }),
  );
  await readFeed(gateway.url);
  await expect.poll(() => seen(gateway, 'local')).toEqual(failed('check', 'unreachable'));
  await expect.poll(() => seen(gateway, 'hosted_a')).toEqual(failed('check', 'credentials'));
  await b.get(1);
  expect(seen(gateway, 'hosted_b')).toEqual({ kind: 'untested' });
});

test('the gateway checks an upstream that is idle, and not one that serves', async () => {
  const { gateway, a: up, clock } = await startStill({ a: well() });
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
  const { gateway, b: up } = await startBefore({ b: well() });
  await readFeed(gateway.url);
  await gateway.set({ hosted_a: { baseUrl: up.url } });
  await expect.poll(() => seen(gateway, 'hosted_a')).toEqual(ANSWERED);
  await chat(gateway.url);
  expect(seen(gateway, 'hosted_a')).toEqual(SERVED);
  await gateway.set({ hosted_a: { baseUrl: REFUSED_URL } });
  await expect.poll(() => seen(gateway, 'hosted_a')).toEqual(failed('check', 'unreachable'));
});

test('an upstream whose list of models is read although its last check failed is checked again at once', async () => {
  const { gateway, a: up } = await startStill({ a: { get: error(503) } });
  await readFeed(gateway.url);
  await expect.poll(() => seen(gateway, 'hosted_a')).toEqual(failed('check', 'http_503'));
  up.answerGet = lists('m');
  await fetch(`${gateway.url}/v1/models`);
  await expect.poll(() => seen(gateway, 'hosted_a')).toEqual(ANSWERED);
});

test('a call that began before the last failure shows nothing, however it ends', async () => {
  const open = stall(chunk({ content: 'slow' }));
  const scripts = [open, error(503), open, answers('well')];
  const { gateway, a: up, clock } = await startStill({ a: scripts }, { RESUME: 'off' });
  const begin = async () => {
    const pending = startChat(gateway.url, STREAM);
    await pending.received('slow');
    clock.advance(10);
    return pending;
  };
  const before = await begin();
  await chat(gateway.url);
  up.calls[0]?.res.end(STOP + DONE);
  await before.answer;
  expect(seen(gateway, 'hosted_a')).toEqual(failed('request', 'http_503'));
  expect(gateway.host.snapshot().judgement.conditions.hosted_a.kind).toBe('failing');
  // Its beginning shows that the upstream no longer refuses, and its break says nothing newer than the answer after it.
  const lost = await begin();
  expect(seen(gateway, 'hosted_a')).toEqual(SERVED);
  await chat(gateway.url);
  up.calls[2]?.socket.destroy();
  await lost.answer;
  expect(seen(gateway, 'hosted_a')).toEqual(SERVED);
});

test('a list of models does not clear an upstream that fails its completions, and a passed test does', async () => {
  const { gateway, a: up } = await startBefore({ a: well(error(500, 'broken')) });
  await chat(gateway.url);
  await readFeed(gateway.url);
  await up.get(1);
  await gateway.status();
  expect(seen(gateway, 'hosted_a')).toEqual(failed('request', 'http_500'));
  up.script = answers('well');
  const { text } = await gateway.post('upstreams/hosted_a/test');
  expect(text).toContain('"model":null');
  expect(seen(gateway, 'hosted_a').kind).toBe('failed');
  await gateway.set({ hosted_a: { model: 'm' } });
  await gateway.post('upstreams/hosted_a/test');
  expect(seen(gateway, 'hosted_a')).toEqual(ANSWERED);
});

test('a list of models takes nothing back from a test that failed', async () => {
  const { gateway, local: up, clock } = await startStill({ local: well(error(500, 'broken')) });
  await readFeed(gateway.url);
  await expect.poll(() => seen(gateway, 'local')).toEqual(ANSWERED);
  await gateway.post('upstreams/local/test');
  expect(seen(gateway, 'local')).toEqual(failed('check', 'http_500'));
  const before = up.gets.length;
  clock.advance(OWN_PAUSE_MS);
  await up.get(before + 1);
  await gateway.status();
  expect(seen(gateway, 'local')).toEqual(failed('check', 'http_500'));
  up.script = answers('hello');
  await gateway.post('upstreams/local/test');
  expect(seen(gateway, 'local')).toEqual(ANSWERED);
});

test('an engine that a test finds busy is skipped for two seconds and then counts as well', async () => {
  const busy = well(error(503, 'server busy, please try again'));
  const { gateway, local: up, clock } = await startStill({ local: busy, a: well() });
  await readFeed(gateway.url);
  await expect.poll(() => seen(gateway, 'local')).toEqual(ANSWERED);
  await gateway.post('upstreams/local/test');
  const local = () => gateway.host.snapshot().judgement.conditions.local.kind;
  expect(local()).toBe('skipped');
  expect(await chat(gateway.url)).toMatchObject({ upstream: 'hosted_a' });
  expect(up.calls).toHaveLength(1);
  clock.advance(2001);
  expect(local()).toBe('closed');
});

test('an engine that dies while it is idle is seen to be down when its models are next read', async () => {
  const { gateway, local: up, clock } = await startStill({ local: well() });
  await readFeed(gateway.url);
  await expect.poll(() => seen(gateway, 'local')).toEqual(ANSWERED);
  clock.advance(1000);
  await chat(gateway.url);
  expect(seen(gateway, 'local')).toEqual(SERVED);
  up.answerGet = ({ res }) => void res.socket?.destroy();
  // It has served 4 s before its turn, and is not checked; the next turn asks for its models.
  clock.advance(2 * OWN_PAUSE_MS);
  await expect.poll(() => seen(gateway, 'local')).toEqual(failed('check', 'unreachable'));
});

test('a machine that fails the test of local counts as failed, and so does the pool if it has no other', async () => {
  const gateway = await startTier([await startMachine(error(500, 'broken'))]);
  gateway.clock.advance(1);
  await gateway.post('upstreams/local/test');
  expect(seen(gateway, 'local')).toEqual(failed('check', 'http_500'));
});

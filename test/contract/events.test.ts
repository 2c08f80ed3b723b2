import { statusReportSchema } from '#shared/status.ts';
import type { LiveEvent } from '#shared/live.ts';
import { expect, test } from 'vitest';
import { type ManualClock } from '../support/clock.ts';
import { chat, chatStream, HELLO, startChat } from '../support/client.ts';
import { asDelta, asSnapshot, readFeed } from '../support/feed.ts';
import { type TestGateway } from '../support/gateway.ts';
import { turns } from '../support/report.ts';
import { answers, chunk, DONE, error, hang, ROLE, stall, STOP } from '../support/upstream.ts';
import { startStill } from '../support/scene.ts';

/** How far apart two deltas are at least: four a second. */
const INTERVAL_MS = 250;

/** A gateway over one upstream, with time in the test's hand. */
const started = (script = answers('hi')) => startStill({ a: script }, { HEALTH_CHECKS: 'false' });

test('a reader of the live feed gets a snapshot first, whole and of the shape of the report', async () => {
  const { gateway } = await started();
  await chat(gateway.url, { ...HELLO, model: 'my-model' });
  const reader = await readFeed(gateway.url);
  expect(reader.head.headers).toMatchObject({
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    // Without it nginx held the snapshot back until the next event, up to 15 s later.
    'x-accel-buffering': 'no',
  });
  const snapshot = asSnapshot(await reader.event(1));
  statusReportSchema.parse(snapshot.status);
  expect(snapshot).toEqual(gateway.host.snapshot());
  expect(snapshot.app).toMatchObject({
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    baseUrl: `${gateway.url.replace('127.0.0.1', 'localhost')}/v1`,
    warmupEnabled: true,
  });
  expect(snapshot.requests).toMatchObject([
    { model: 'my-model', state: 'done', upstream: 'hosted_a', status: 200, fallbackReason: 'none' },
  ]);
});

test('a request is a row in the live feed that is added and then changed, with what it occupies', async () => {
  const { a, clock, gateway } = await started(stall(ROLE));
  const reader = await readFeed(gateway.url);
  await reader.event(1);
  const pending = startChat(gateway.url, { ...HELLO, stream: true });
  const { res } = await a.call(1);
  clock.advance(INTERVAL_MS);
  const begun = asDelta(await reader.event(2));
  expect(begun.upsert).toMatchObject([{ state: 'running', upstream: null, status: null }]);
  expect(begun.inFlight).toMatchObject({ hosted_a: 1, hosted_b: 0 });
  res.write(chunk({ content: 'a' }));
  await pending.received('"a"');
  clock.advance(INTERVAL_MS);
  const answering = asDelta(await reader.event(3));
  expect(answering.upsert).toMatchObject([
    { state: 'running', upstream: 'hosted_a', status: 200, attempts: [{ upstream: 'hosted_a' }] },
  ]);
  res.end(STOP + DONE);
  await pending.answer;
  await turns(gateway);
  clock.advance(INTERVAL_MS);
  const done = asDelta(await reader.event(4));
  expect(done.upsert).toMatchObject([{ state: 'done', endMs: expect.any(Number) }]);
  expect(done.inFlight).toMatchObject({ hosted_a: 0 });
  expect(done.status?.stats.totalRequests).toBe(1);
  const ids = [begun, answering, done].map((delta) => delta.upsert[0]?.id);
  expect(new Set(ids).size).toBe(1);
});

test('the live feed sends at most four deltas a second, however much happens', async () => {
  const { clock, gateway } = await started();
  const reader = await readFeed(gateway.url);
  await reader.event(1);
  for (let round = 2; round <= 5; round += 1) {
    await Promise.all(Array.from({ length: 10 }, () => chatStream(gateway.url)));
    await turns(gateway);
    clock.advance(INTERVAL_MS - 1);
    await turns(gateway);
    expect(reader.events).toHaveLength(round - 1);
    clock.advance(1);
    expect(asDelta(await reader.event(round)).upsert).toHaveLength(10);
  }
  clock.advance(10 * INTERVAL_MS);
  await turns(gateway);
  expect(reader.events).toHaveLength(5);
});

test('the 101st ended request displaces the oldest ended one in the live feed, and none that runs', async () => {
  const { a, clock, gateway } = await started(hang);
  const pending = startChat(gateway.url);
  await a.call(1);
  a.script = answers('hi');
  await chat(gateway.url);
  const reader = await readFeed(gateway.url);
  const [oldest, running] = asSnapshot(await reader.event(1)).requests;
  expect([oldest?.state, running?.state]).toEqual(['done', 'running']);
  for (let sent = 0; sent < 100; sent += 1) await chat(gateway.url);
  await turns(gateway);
  clock.advance(INTERVAL_MS);
  const delta = asDelta(await reader.event(2));
  expect(delta.remove).toContain(oldest?.id);
  expect(delta.remove).not.toContain(running?.id);
  const { requests } = gateway.host.snapshot();
  expect(requests.filter(({ state }) => state === 'done')).toHaveLength(100);
  expect(requests).toContainEqual(expect.objectContaining({ id: running?.id, state: 'running' }));
  pending.leave();
});

/** A reader that does not read, beside one that does. */
async function fallBehind(gateway: TestGateway, clock: ManualClock) {
  const slow = await readFeed(gateway.url);
  const quick = await readFeed(gateway.url);
  await slow.event(1);
  slow.pause();
  // Far more than the sockets of both sides and the gateway's own limit hold together.
  for (let delta = 2; delta < 1500; delta += 1) {
    gateway.host.changed();
    clock.advance(INTERVAL_MS);
    await quick.event(delta);
  }
  return { slow, quick };
}

/** What a window holds after these events: rows newest first are the gateway's to order. */
function rowsAfter(events: readonly LiveEvent[]): Record<string, unknown> {
  const rows: Record<string, unknown> = {};
  for (const event of events) {
    const isWhole = event.kind === 'snapshot';
    for (const id of isWhole ? Object.keys(rows) : event.remove) delete rows[id];
    for (const row of isWhole ? event.requests : event.upsert) rows[row.id] = row;
  }
  return rows;
}

test('a reader that stops reading gets a fresh snapshot once it reads again, and misses nothing', async () => {
  const { clock, gateway } = await started();
  const { slow, quick } = await fallBehind(gateway, clock);
  await chat(gateway.url);
  clock.advance(INTERVAL_MS);
  slow.resume();
  await expect.poll(() => slow.events.filter(({ kind }) => kind === 'snapshot').length).toBe(2);
  expect(slow.events.length).toBeLessThan(quick.events.length);
  gateway.host.changed();
  clock.advance(INTERVAL_MS);
  await expect.poll(() => slow.events.at(-1)?.kind).toBe('delta');
  expect(rowsAfter(slow.events)).toEqual(rowsAfter([gateway.host.snapshot()]));
});

test('a silent feed says every 15 seconds that it is still there', async () => {
  const { clock, gateway } = await started();
  const reader = await readFeed(gateway.url);
  await reader.event(1);
  clock.advance(14_999);
  await turns(gateway);
  expect(reader.comments).toEqual([]);
  clock.advance(1);
  await reader.received(': ');
  clock.advance(15_000);
  await expect.poll(() => reader.comments.length).toBe(2);
  expect(reader.comments.every((comment) => comment.startsWith(':'))).toBe(true);
  expect(reader.events).toHaveLength(1);
});

test('a reader that has gone leaves no timer behind', async () => {
  const { clock, gateway } = await started();
  const before = clock.pending();
  const reader = await readFeed(gateway.url);
  await reader.event(1);
  expect(clock.pending()).toBeGreaterThan(before);
  reader.leave();
  await expect.poll(() => clock.pending()).toBe(before);
});

test('a stop ends the live feed, and the reader sees a whole last event', async () => {
  const { gateway } = await started();
  const reader = await readFeed(gateway.url);
  await reader.event(1);
  await gateway.host.stop();
  await reader.ended;
  expect(reader.head.complete).toBe(true);
});

test('a reader that does not read does not delay a stop', async () => {
  const { clock, gateway } = await started();
  const { quick } = await fallBehind(gateway, clock);
  const stopped = gateway.host.stop();
  await quick.ended;
  clock.advance(1000);
  expect(await stopped).toBeUndefined();
});

test('the live feed says who serves next, and again once a rate limit is over', async () => {
  const limited = error(429, 'slow down', null, { 'retry-after': '30' });
  const { a, clock, gateway } = await started(limited);
  const reader = await readFeed(gateway.url);
  const { verdict } = asSnapshot(await reader.event(1)).judgement;
  expect(verdict).toEqual({ kind: 'untested', by: 'hosted_a' });
  await chat(gateway.url);
  await turns(gateway);
  clock.advance(INTERVAL_MS);
  expect(asDelta(await reader.event(2)).judgement?.verdict).toEqual({ kind: 'stuck', tries: null });
  a.script = answers('hi');
  clock.advance(30_000);
  await turns(gateway);
  clock.advance(INTERVAL_MS);
  expect(asDelta(await reader.event(3)).judgement?.verdict).toMatchObject({ by: 'hosted_a' });
});

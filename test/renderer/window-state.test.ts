import { expect, test } from 'vitest';
import { applyEvent, INITIAL_STATE, reduceWindow } from '../../renderer/api/window-state.ts';
import { delta, live, NOW, perUpstream, request, snapshot, status } from './builders.ts';

const connected = reduceWindow(INITIAL_STATE, { kind: 'event', event: snapshot(), now: NOW });

test('a lost connection keeps what was known and says since when, also after a failed reconnection', () => {
  const lost = reduceWindow(connected, { kind: 'lost', now: NOW + 10 });
  expect(lost.connection).toEqual({ kind: 'lost', since: NOW + 10 });
  expect(lost.data).toBe(connected.data);
  expect(reduceWindow(lost, { kind: 'lost', now: NOW + 999 })).toBe(lost);
});

test('a locked gateway is shown as locked, whatever was known', () => {
  expect(reduceWindow(connected, { kind: 'locked' }).connection).toEqual({ kind: 'locked' });
});

const ids = (data: ReturnType<typeof applyEvent>) => data?.requests.map(({ id }) => id);

test('a delta before the first snapshot is dropped', () => {
  expect(applyEvent(null, delta({ upsert: [request('a')] }), NOW)).toBeNull();
});

test('a snapshot replaces everything that was known', () => {
  const before = live({ requests: [request('old')] });
  const after = applyEvent(before, snapshot({ requests: [request('new')] }), NOW + 1);
  expect(ids(after)).toEqual(['new']);
});

test('a row that a delta does not touch stays the same object', () => {
  const before = live({ requests: [request('b'), request('a')] });
  const after = applyEvent(before, delta({ upsert: [request('b', { events: 11 })] }), NOW + 1);
  expect(after?.requests[1]).toBe(before.requests[1]);
  expect(after?.requests[0]?.events).toBe(11);
});

test('a new row stands above everything that is not newer', () => {
  const rows = [request('late', { startedAt: NOW }), request('early', { startedAt: NOW - 50 })];
  const upsert = [
    request('middle', { startedAt: NOW - 20 }),
    request('newest', { startedAt: NOW + 5 }),
    request('oldest', { startedAt: NOW - 90 }),
  ];
  const after = applyEvent(live({ requests: rows }), delta({ upsert }), NOW + 1);
  expect(ids(after)).toEqual(['newest', 'late', 'middle', 'early', 'oldest']);
});

test('a removed row is gone even when the same delta touches it', () => {
  const before = live({ requests: [request('b'), request('a')] });
  const after = applyEvent(
    before,
    delta({ upsert: [request('a'), request('c')], remove: ['a', 'c'] }),
    NOW + 1,
  );
  expect(ids(after)).toEqual(['b']);
});

test('a delta does not change what it leaves out', () => {
  const before = live({ inFlight: { ...perUpstream(0), local: 3 } });
  const after = applyEvent(before, delta({ upsert: [request('a')] }), NOW + 1);
  expect(after?.inFlight).toBe(before.inFlight);
  expect(after?.status).toBe(before.status);
  expect(after?.app).toBe(before.app);
});

test('countdowns restart only with a new status', () => {
  const before = live();
  expect(applyEvent(before, delta(), NOW + 500)?.statusAt).toBe(NOW);
  expect(applyEvent(before, delta({ status: status() }), NOW + 500)?.statusAt).toBe(NOW + 500);
});

test('the gateway’s clock is told apart from the page’s', () => {
  const ahead = status([], { timestamp: new Date(NOW + 7_000).toISOString() });
  expect(live({ status: ahead }).skewMs).toBe(7_000);
});

import { describe, expect, test } from 'vitest';
import { INITIAL_STATE, reduceWindow } from '../../renderer/api/window-state.ts';
import { delta, NOW, request, snapshot } from './builders.ts';

const connected = reduceWindow(INITIAL_STATE, { kind: 'event', event: snapshot(), now: NOW });

describe('window state', () => {
  test('an event makes the page live', () => {
    expect(connected.connection).toEqual({ kind: 'live' });
  });

  test('a lost line keeps what was known and says since when', () => {
    const lost = reduceWindow(connected, { kind: 'lost', now: NOW + 10 });
    expect(lost.connection).toEqual({ kind: 'lost', since: NOW + 10 });
    expect(lost.data).toBe(connected.data);
  });

  test('a failed reconnection does not make old data younger', () => {
    const lost = reduceWindow(connected, { kind: 'lost', now: NOW + 10 });
    expect(reduceWindow(lost, { kind: 'lost', now: NOW + 999 })).toBe(lost);
  });

  test('the snapshot after a reconnection ends the loss', () => {
    const lost = reduceWindow(connected, { kind: 'lost', now: NOW + 10 });
    const back = reduceWindow(lost, { kind: 'event', event: snapshot(), now: NOW + 900 });
    expect(back.connection).toEqual({ kind: 'live' });
  });

  test('a delta on a live line leaves the connection object alone', () => {
    const event = delta({ upsert: [request('a')] });
    const next = reduceWindow(connected, { kind: 'event', event, now: NOW + 1 });
    expect(next.connection).toBe(connected.connection);
  });

  test('losing the session keeps the notice of why it was never had', () => {
    const refused = reduceWindow(connected, { kind: 'session', control: false, notice: 'used' });
    expect(reduceWindow(refused, { kind: 'session', control: false }).notice).toBe('used');
  });

  test('a locked gateway is shown as locked whatever was known', () => {
    expect(reduceWindow(connected, { kind: 'locked' }).connection).toEqual({ kind: 'locked' });
  });
});

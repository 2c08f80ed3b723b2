import { expect, test } from 'vitest';
import { NEW_BREAKER } from '../../../main/gateway/circuits/breaker.ts';
import { createCircuits } from '../../../main/gateway/circuits/circuits.ts';
import { circuitReport } from '../../../main/gateway/monitoring/status.ts';
import { later } from '../../../main/platform/clock.ts';
import { createManualClock } from '../../support/clock.ts';

const LIMITS = {
  failThreshold: 5,
  cooldownMs: 60_000,
  ttftThresholdMs: 5000,
  ttftSlowThreshold: 3,
};

function watched(isWatched: boolean) {
  const told = { changes: 0, unsaved: 0 };
  const circuits = createCircuits({
    clock: createManualClock(),
    random: () => 0.5,
    config: () => ({ circuit: LIMITS }),
    watchers: { isWatched, changed: () => (told.changes += 1) },
    unsaved: () => (told.unsaved += 1),
    opened() {},
  });
  return { circuits, told };
}

test('a change of the circuits asks for one save, and the first change after that save for another', () => {
  const { circuits, told } = watched(false);
  circuits.sent('local');
  circuits.record('local', { serial: 0 }, { kind: 'success' });
  expect(told.unsaved).toBe(1);
  circuits.save();
  expect(told.unsaved).toBe(1);
  circuits.sent('hosted_a');
  circuits.reset('local');
  expect(told.unsaved).toBe(2);
});

test('open dashboards are notified of each change of a circuit, and without any nobody is', () => {
  for (const isWatched of [true, false]) {
    const { circuits, told } = watched(isWatched);
    circuits.sent('local');
    circuits.record('local', { serial: 0 }, { kind: 'success' });
    circuits.coolDown('local');
    circuits.forget('local');
    circuits.forget('local');
    expect(told.changes).toBe(isWatched ? 3 : 0);
  }
});

test('the shown end of a cool-down stays the same while the clock ticks', () => {
  const start = { ticks: 250.5, wallMs: Date.UTC(2026, 0, 1) };
  const state = { kind: 'open', until: later(start, 60_000), consecutiveOpens: 1 } as const;
  const shown = [0.2, 0.9, 1.4, 700.6, 30_000.3].map((ms) => {
    const now = { ticks: start.ticks + ms, wallMs: Math.floor(start.wallMs + ms) };
    return circuitReport({ ...NEW_BREAKER, state }, now).failUntil;
  });
  expect(new Set(shown)).toEqual(new Set(['2026-01-01T00:01:00.000Z']));
});

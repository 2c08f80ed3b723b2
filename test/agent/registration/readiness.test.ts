import { expect, test } from 'vitest';
import { untilReady } from '../../../main/agent/registration/heartbeats.ts';
import type { GpuReading } from '../../../main/agent/telemetry/gpu-device.ts';
import { setTelemetry, turn } from '../../support/agent.ts';
import { createManualClock } from '../../support/clock.ts';

const { promise: NEVER } = Promise.withResolvers<void>();

/** A machine that is being looked at: `over` tells whether that is done. */
function looking(engines: Promise<void>, state: GpuReading['state']) {
  const clock = createManualClock();
  const telemetry = setTelemetry();
  const become = (now: GpuReading['state']) => {
    telemetry.now = { ...telemetry.now, gpus: { ...telemetry.now.gpus, state: now } };
  };
  become(state);
  const stopping = new AbortController();
  const look = { clock, become, stopping, isOver: false };
  const ready = untilReady({ telemetry, clock }, { looked: () => engines }, stopping.signal);
  void ready.then(() => (look.isOver = true));
  return look;
}

test('a machine whose GPU tool has not answered yet waits for it before its first heartbeat', async () => {
  const look = looking(Promise.resolve(), 'starting');
  await turn();
  look.clock.advance(50);
  await turn();
  expect(look.isOver).toBe(false);
  look.become('reading');
  look.clock.advance(50);
  await turn();
  expect(look.isOver).toBe(true);
});

test.each([
  ['an engine that hangs', NEVER, 'reading'],
  ['a driver that hangs', Promise.resolve(), 'starting'],
  ['an engine and a driver that hang', NEVER, 'starting'],
] as const)('the first heartbeat waits no longer than 3 s for %s', async (_, engines, state) => {
  const look = looking(engines, state);
  for (let ms = 0; ms < 2950; ms += 50) {
    await turn();
    look.clock.advance(50);
  }
  await turn();
  expect(look.isOver).toBe(false);
  look.clock.advance(50);
  await turn();
  expect([look.isOver, look.clock.pending()]).toEqual([true, 0]);
});

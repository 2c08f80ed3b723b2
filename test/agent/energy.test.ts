import { expect, test } from 'vitest';
import { createEnergyMeter, createPowerWatch } from '../../main/agent/energy.ts';
import { CARD, setTelemetry, startModelServer, startServing, until } from '../support/agent.ts';
import { createManualClock } from '../support/clock.ts';
import { postJson } from '../support/http.ts';
import { json } from '../support/upstream.ts';

type Curve = (ms: number) => number;

/** Reads a curve every `stepMs` up to `endMs`, with what happens at other times in between. */
function measured(
  curve: Curve,
  { stepMs, endMs }: { readonly stepMs: number; readonly endMs: number },
  events: readonly (readonly [atMs: number, happens: () => void])[],
  meter: ReturnType<typeof createEnergyMeter>,
) {
  const readings = Array.from({ length: Math.floor(endMs / stepMs) + 1 }, (_, n) => n * stepMs);
  const steps = [
    ...readings.map((at) => [at, () => meter.sample(at, curve(at))] as const),
    ...events,
  ];
  for (const [, happens] of steps.toSorted(([a], [b]) => a - b)) happens();
}

/** The integral of a curve above `idle`, by a thousand times finer steps, in joules. */
function integral(curve: Curve, fromMs: number, toMs: number, idle = 0): number {
  const steps = 200_000;
  const ms = (toMs - fromMs) / steps;
  let sum = 0;
  for (let n = 0; n < steps; n += 1) sum += Math.max(0, curve(fromMs + (n + 0.5) * ms) - idle) * ms;
  return sum / 1000;
}

/** 30 W idle; from 100 s on a rise to 300 W in 2 s, waves of 40 W, and a fall in 5 s after 400 s. */
const SERVING: Curve = (ms) => {
  if (ms < 100_000 || ms > 405_000) return 30;
  const plateau = 300 + 40 * Math.sin(ms / 7000);
  if (ms < 102_000) return 30 + (plateau - 30) * ((ms - 100_000) / 2000);
  return ms > 400_000 ? 30 + (plateau - 30) * ((405_000 - ms) / 5000) : plateau;
};

test.each([1000, 2000])(
  'the measured energy is right to 1 %% with a reading every %i ms',
  (stepMs) => {
    const meter = createEnergyMeter();
    let end = (_ticks: number, _tokens: number): void => {};
    measured(
      SERVING,
      { stepMs, endMs: 500_000 },
      [
        [100_300, () => (end = meter.began('qwen3', 100_300))],
        [400_700, () => end(400_700, 9000)],
      ],
      meter,
    );
    const { idleWatts, isNet, models } = meter.view();
    expect([idleWatts, isNet]).toEqual([30, true]);
    const [{ joules, tokens, model } = { joules: 0, tokens: 0, model: '' }] = models;
    const expected = integral(SERVING, 100_300, 400_700, 30);
    expect(Math.abs(joules / expected - 1)).toBeLessThan(0.01);
    expect([model, tokens]).toEqual(['qwen3', 9000]);
  },
);

test('the energy is divided among the requests that run at the same time', () => {
  const meter = createEnergyMeter();
  // Nothing was ever idle: power is unknown when the first begins, which is left out and still takes its share.
  const first = meter.began('first', -2000);
  meter.sample(-1000, 200);
  first(-1000, 1);
  meter.began('a', 0);
  meter.began('b', 0);
  measured(() => 200, { stepMs: 1000, endMs: 10_000 }, [], meter);
  expect(meter.view()).toMatchObject({ idleWatts: null, isNet: false });
  expect(meter.view().models.map(({ model, joules }) => [model, Math.round(joules)])).toEqual([
    ['a', 1000],
    ['b', 1000],
  ]);
});

test('idle power is the lowest of the last hour while nothing was served', () => {
  const meter = createEnergyMeter();
  const minute = 60_000;
  meter.sample(0, 25);
  meter.sample(minute, 31);
  expect(meter.view().idleWatts).toBe(25);
  const end = meter.began('m', 2 * minute);
  meter.sample(2 * minute + 1, 10);
  end(3 * minute, 1);
  meter.sample(3 * minute + 10_000, 12);
  expect(meter.view().idleWatts).toBe(25);
  for (let n = 4; n < 62; n += 1) meter.sample(n * minute, 40);
  expect(meter.view().idleWatts).toBe(40);
});

test('the power of all cards is read every five seconds while requests run', () => {
  const clock = createManualClock();
  const telemetry = setTelemetry();
  const devices = [60, 30].map((powerW) => ({ ...CARD, powerW }));
  telemetry.now = { ...telemetry.now, gpus: { state: 'reading', devices, problems: [] } };
  const meter = createEnergyMeter();
  const watch = createPowerWatch({ telemetry, clock }, meter);
  meter.sample(clock.ticks(), 30);
  clock.advance(1);
  const ended = watch.began('qwen3');
  clock.advance(20_000);
  expect([telemetry.looks, meter.view().watts]).toEqual([5, 90]);
  const [model] = meter.view().models;
  expect([model?.model, Math.round(model?.joules ?? 0)]).toEqual(['qwen3', 20 * (90 - 30)]);
  ended(1);
  clock.advance(20_000);
  expect(telemetry.looks).toBe(5);
});

test('the energy of answers that an agent passes on is measured, and its heartbeats report it', async () => {
  const { promise: read, resolve: answer } = Promise.withResolvers<void>();
  const engine = await startModelServer(async (call) => {
    await read;
    return json(200, { usage: { completion_tokens: 200 } })(call);
  });
  const { agent, clock, telemetry, url } = await startServing(engine);
  telemetry.card({ powerW: 30 });
  clock.advance(5000);
  const asked = postJson(`${url}/v1/chat/completions`, { model: 'm', messages: [] });
  await engine.call(1);
  telemetry.card({ powerW: 230 });
  clock.advance(10_000);
  answer();
  expect((await asked).status).toBe(200);
  await until(() => agent.view().inFlight === 0);
  const { energy, record } = agent.view();
  expect(energy).toMatchObject({ watts: 230, idleWatts: 30, isNet: true });
  // One second of a rise by 200 W, and nine at 200 W above idle.
  expect(energy.models).toEqual([{ model: 'm', joules: 1900, tokens: 200 }]);
  const reported = record.energy;
  expect(reported).toEqual({ idle_w: 30, models: [{ model: 'm', joules: 1900, tokens: 200 }] });
});

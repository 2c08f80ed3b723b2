import { expect, test } from 'vitest';
import { createEnergyMeter, createPowerWatch } from '../../../main/agent/energy.ts';
import { CARD, setTelemetry } from '../../support/agent.ts';
import { createManualClock } from '../../support/clock.ts';

test('the power of all cards is read every five seconds while requests run', () => {
  const clock = createManualClock();
  const telemetry = setTelemetry();
  const devices = [60, 30].map((powerW) => ({ ...CARD, powerW }));
  telemetry.now = { ...telemetry.now, gpus: { state: 'reading', devices, problems: [] } };
  const meter = createEnergyMeter();
  const watch = createPowerWatch({ telemetry, meter, clock });
  meter.sample(clock.ticks(), 30);
  clock.advance(1);
  const ended = meter.began('qwen3', clock.ticks());
  watch.look();
  clock.advance(20_000);
  expect([telemetry.looks, meter.view().watts]).toEqual([5, 90]);
  const [model] = meter.view().models;
  expect([model?.model, Math.round(model?.joules ?? 0)]).toEqual(['qwen3', 20 * (90 - 30)]);
  ended(clock.ticks(), 1);
  clock.advance(20_000);
  expect(telemetry.looks).toBe(5);
});

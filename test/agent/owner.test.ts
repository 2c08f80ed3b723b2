import { describe, expect, test } from 'vitest';
import {
  FREE,
  modeOf,
  NO_RULES,
  observed,
  ruled,
  wished,
  type Observation,
  type OwnerRules,
  type OwnerState,
} from '../../main/agent/owner.ts';
import { startAgent } from '../support/agent.ts';

const QUIET: Observation = {
  userIdleMs: null,
  isOnBattery: null,
  gpuTemperatureC: null,
  gpuUtilPercent: null,
  isServing: false,
  ticks: 0,
};

const under = (rules: Partial<OwnerRules>) => ruled(FREE, { ...NO_RULES, ...rules });
const see = (state: OwnerState, ...seen: Partial<Observation>[]) =>
  seen.reduce((now, part) => observed(now, { ...QUIET, ...part }), state);
const mode = (state: OwnerState, inFlight = 0) => modeOf(state, inFlight).mode;

test('a machine of which nobody has said anything is on', () => {
  const busy = { userIdleMs: 0, isOnBattery: true, gpuTemperatureC: 99, gpuUtilPercent: 100 };
  expect(modeOf(see(FREE, busy), 0)).toEqual({ mode: 'on', reasons: [] });
});

test('a pause is at once; a drain waits for what runs; both have a reason', () => {
  expect(mode(wished(FREE, 'paused'), 3)).toBe('paused');
  expect([3, 0].map((running) => mode(wished(FREE, 'drained'), running))).toEqual([
    'draining',
    'paused',
  ]);
  expect(modeOf(wished(FREE, 'drained'), 0).reasons).toHaveLength(1);
});

describe('a rule', () => {
  test.each([
    [{ onlyWhenIdle: true }, { userIdleMs: 299_999 }, { userIdleMs: 300_000 }],
    [{ notOnBattery: true }, { isOnBattery: true }, { isOnBattery: false }],
    [{ maxGpuTemperatureC: 80 }, { gpuTemperatureC: 80 }, { gpuTemperatureC: 74 }],
  ])('%j pauses at %j and no more at %j, and never for the unknown', (rules, bad, good) => {
    expect(mode(see(under(rules), bad))).toBe('paused');
    expect(mode(see(under(rules), bad), 1)).toBe('draining');
    expect(mode(see(under(rules), bad, good))).toBe('on');
    expect(mode(see(under(rules), bad, {}))).toBe('on');
    expect(modeOf(see(under(rules), bad), 0).reasons[0]).toMatch(/\S/);
  });

  test('of temperature does not switch to and fro', () => {
    const hot = see(under({ maxGpuTemperatureC: 80 }), { gpuTemperatureC: 81 });
    expect(mode(see(hot, { gpuTemperatureC: 76 }))).toBe('paused');
    expect(mode(see(hot, { gpuTemperatureC: 74 }, { gpuTemperatureC: 79 }))).toBe('on');
  });

  test('to yield holds for another program that stays, and ends when it was quiet for long', () => {
    const rule = under({ yieldToOthers: true });
    const at = (s: number, gpuUtilPercent: number, isServing = false) => ({
      ticks: s * 1000,
      gpuUtilPercent,
      isServing,
    });
    expect(mode(see(rule, at(0, 90)))).toBe('on');
    expect(mode(see(rule, at(0, 90, true), at(5, 90, true), at(10, 90, true)))).toBe('on');
    const taken = see(rule, at(0, 90), at(5, 90));
    expect(mode(taken)).toBe('paused');
    expect(mode(see(taken, at(10, 0), at(35, 0)))).toBe('paused');
    expect(mode(see(taken, at(10, 0), at(35, 50), at(60, 0)))).toBe('paused');
    expect(mode(see(taken, at(10, 0), at(40, 0)))).toBe('on');
  });
});

test('switching it on overrules what holds it back, until that has ended once', () => {
  const held = see(under({ notOnBattery: true }), { isOnBattery: true });
  const overruled = wished(held, 'on');
  expect(mode(overruled)).toBe('on');
  expect(mode(see(overruled, { isOnBattery: true }))).toBe('on');
  expect(mode(see(overruled, { isOnBattery: false }, { isOnBattery: true }))).toBe('paused');
});

test('a pause goes before all rules, and rules do not end it', () => {
  const held = see(wished(under({ notOnBattery: true }), 'paused'), { isOnBattery: false });
  expect(mode(held)).toBe('paused');
});

test('wish and rules are kept over a restart', async () => {
  const first = await startAgent();
  const rules = { ...NO_RULES, maxGpuTemperatureC: 80 };
  await first.agent.setRules(rules);
  await first.agent.setMode('paused');
  await first.stop();
  const second = await startAgent({ dataDirectory: first.directory });
  expect(second.agent.view()).toMatchObject({
    owner: { wish: 'paused', rules, mode: 'paused' },
    record: { status: 'paused' },
  });
});

test('a GPU that gets hot pauses the machine at the next look, and its owner is told why', async () => {
  const { agent, telemetry, clock } = await startAgent();
  await agent.setRules({ ...NO_RULES, maxGpuTemperatureC: 80 });
  telemetry.card({ temperatureC: 85 });
  clock.advance(5000);
  expect(agent.view().owner).toMatchObject({
    mode: 'paused',
    reasons: [expect.stringContaining('80 °C')],
  });
});

test('a rule that nothing here can judge is named', async () => {
  const { agent } = await startAgent();
  await agent.setRules({ ...NO_RULES, onlyWhenIdle: true, maxGpuTemperatureC: 80 });
  expect(agent.view().owner.unjudged).toEqual(['onlyWhenIdle']);
});

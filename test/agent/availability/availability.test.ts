import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OwnerChoice } from '#shared/agent.ts';
import { expect, test } from 'vitest';
import { UNKNOWN_HOST_ACTIVITY } from '../../../main/agent/availability/host-activity.ts';
import {
  afterObservation,
  afterTime,
  afterChoice,
  INITIAL_STATE,
  memoryGoalOf,
  modeOf,
  type OwnerState,
} from '../../../main/agent/availability/availability.ts';
import {
  type Observation,
  OWNER_RULE_KEYS,
  OWNER_RULES,
  type OwnerRules,
} from '../../../main/agent/availability/rules.ts';
import { createManualClock } from '../../support/clock.ts';
import { startAgent, until } from '../../support/agent.ts';
import { temporaryDirectory } from '../../support/gateway.ts';

const NO_RULES: OwnerRules = {
  onlyWhenIdle: false,
  notOnBattery: false,
  maxGpuTemperatureC: null,
  yieldToOthers: false,
};

const QUIET: Observation = {
  userIdleMs: null,
  isOnBattery: null,
  gpuTemperatureC: null,
  gpuUtilPercent: null,
  isServing: false,
  ticks: 0,
};

/** A machine under rules: what it becomes by what is seen and wished. */
function under(part: Partial<OwnerRules>, state = INITIAL_STATE) {
  const rules = { ...NO_RULES, ...part };
  const become = (next: OwnerState) => under(rules, next);
  return {
    see: (...seen: Partial<Observation>[]) =>
      become(
        seen.reduce((now, each) => afterObservation(now, rules, { ...QUIET, ...each }), state),
      ),
    choice: (choice: OwnerChoice) => become(afterChoice(state, choice)),
    mode: (inFlight = 0) => modeOf(state, rules, inFlight).mode,
    reasons: (inFlight = 0) => modeOf(state, rules, inFlight).reasons,
  };
}

test('a pause takes effect at once, a drain lets running requests finish, and both show a reason', () => {
  expect(under({}).choice('paused').mode(3)).toBe('paused');
  const drained = under({}).choice('drained');
  expect([drained.mode(3), drained.mode(0)]).toEqual(['draining', 'paused']);
  expect(drained.reasons()).toHaveLength(1);
});

test.each([
  [{ onlyWhenIdle: true }, { userIdleMs: 299_999 }, { userIdleMs: 300_000 }],
  [{ notOnBattery: true }, { isOnBattery: true }, { isOnBattery: false }],
  [{ maxGpuTemperatureC: 80 }, { gpuTemperatureC: 80 }, { gpuTemperatureC: 74 }],
])(
  'the owner rule %j pauses at %j, no longer at %j, and never for an unknown reading',
  (rules, bad, good) => {
    const held = under(rules).see(bad);
    expect([held.mode(), held.mode(1)]).toEqual(['paused', 'draining']);
    expect(held.see(good).mode()).toBe('on');
    expect(held.see({}).mode()).toBe('on');
    expect(held.reasons()[0]).toMatch(/\S/);
  },
);

test('an owner rule to yield pauses for another program that keeps the GPU busy, and resumes after a long quiet', () => {
  const rule = under({ yieldToOthers: true });
  const at = (s: number, gpuUtilPercent: number, isServing = false) => ({
    ticks: s * 1000,
    gpuUtilPercent,
    isServing,
  });
  expect(rule.see(at(0, 90)).mode()).toBe('on');
  expect(rule.see(at(0, 90, true), at(15, 90, true), at(30, 90, true)).mode()).toBe('on');
  expect(rule.see(at(0, 90), at(15, 90)).mode()).toBe('on');
  const taken = rule.see(at(0, 90), at(20, 90));
  expect(taken.mode()).toBe('paused');
  expect(taken.see(at(25, 0), at(50, 0)).mode()).toBe('paused');
  expect(taken.see(at(25, 0), at(50, 50), at(75, 0)).mode()).toBe('paused');
  expect(taken.see(at(25, 0), at(55, 0)).mode()).toBe('on');
});

test('switching a machine on overrules a broken owner rule until that rule has been kept once', () => {
  const overruled = under({ notOnBattery: true }).see({ isOnBattery: true }).choice('on');
  expect(overruled.mode()).toBe('on');
  expect(overruled.see({ isOnBattery: true }).mode()).toBe('on');
  expect(overruled.see({ isOnBattery: false }, { isOnBattery: true }).mode()).toBe('paused');
});

test('a pause takes precedence over all owner rules, and no rule ends it', () => {
  const held = under({ notOnBattery: true }).choice('paused').see({ isOnBattery: false });
  expect(held.mode()).toBe('paused');
});

const freed = (untilMs: number | null) => ({ ...INITIAL_STATE, freed: { untilMs } });

test('freed memory keeps requests away until its time is over, or its owner takes it back', () => {
  const machine = under({}, freed(1000));
  expect([machine.mode(1), machine.mode(0)]).toEqual(['draining', 'paused']);
  expect(afterTime(freed(1000), 999).freed).not.toBeNull();
  expect(afterTime(freed(1000), 1000).freed).toBeNull();
  expect(afterTime(freed(null), Number.MAX_SAFE_INTEGER).freed).not.toBeNull();
  expect(machine.choice('on').mode()).toBe('on');
});

test('freed memory leaves a machine paused that was paused before or is paused meanwhile', () => {
  const paused = afterChoice(freed(1000), 'paused');
  expect(under({}, paused).mode(3)).toBe('paused');
  expect(under({}, afterTime(paused, 1000)).mode()).toBe('paused');
});

test('an owner rule frees memory only if the owner allows it and others need the GPU', () => {
  const wishOf = (rules: Partial<OwnerRules>, seen: Partial<Observation>, rulesFree: boolean) =>
    memoryGoalOf(
      afterObservation(INITIAL_STATE, { ...NO_RULES, ...rules }, { ...QUIET, ...seen }),
      rulesFree,
    ).kind;
  const used = [{ onlyWhenIdle: true }, { userIdleMs: 0 }] as const;
  expect([wishOf(...used, true), wishOf(...used, false)]).toEqual(['freed', 'kept']);
  expect(wishOf({ maxGpuTemperatureC: 80 }, { gpuTemperatureC: 90 }, true)).toBe('kept');
});

test('the owner’s choice is kept over a restart, and owner rules are those of the settings', async () => {
  const first = await startAgent({ maxGpuTemperatureC: 80 });
  await first.agent.setMode('paused');
  await first.stop();
  const second = await startAgent({ dataDirectory: first.directory });
  expect(second.agent.view()).toMatchObject({
    owner: { choice: 'paused', rules: expect.objectContaining(NO_RULES), mode: 'paused' },
    record: { status: 'paused' },
  });
});

test('a machine whose saved choice cannot be read is held back, over restarts', async () => {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, 'agent-owner.json'), '');
  for (const tools of [['saved files', 'registry'], ['registry']]) {
    const { agent, stop } = await startAgent({ dataDirectory: directory });
    const { owner, problems } = agent.view();
    expect([owner.mode, problems.map(({ tool }) => tool)]).toEqual(['paused', tools]);
    await stop();
  }
});

test('requests that go to the engine past the agent are no other program’s use of the GPU', async () => {
  let inFlight = 1;
  const clock = createManualClock();
  const { agent, telemetry, set } = await startAgent({
    clock,
    direct: { inFlight: () => inFlight, endAll() {} },
  });
  telemetry.card({ utilGpu: 90 });
  const modeAfter = (ms: number) => {
    clock.advance(ms);
    set({ yieldToOthers: true });
    return agent.view().owner.mode;
  };
  expect([modeAfter(0), modeAfter(30_000)]).toEqual(['on', 'on']);
  inFlight = 0;
  expect([modeAfter(0), modeAfter(30_000)]).toEqual(['on', 'paused']);
});

test('an owner rule that this machine cannot judge is named, set or not, and pauses nothing', async () => {
  const { agent, telemetry, set } = await startAgent();
  const byHost = OWNER_RULES.filter(({ senses }) => senses in UNKNOWN_HOST_ACTIVITY);
  await until(() => agent.view().owner.unjudgeable.length === byHost.length);
  expect(agent.view().owner.unjudgeable).toEqual(byHost.map(({ key }) => key));
  telemetry.card({ temperatureC: null, utilGpu: null });
  set({ onlyWhenIdle: true, notOnBattery: true, maxGpuTemperatureC: 30, yieldToOthers: true });
  expect(agent.view().owner).toMatchObject({ mode: 'on', unjudgeable: OWNER_RULE_KEYS });
});

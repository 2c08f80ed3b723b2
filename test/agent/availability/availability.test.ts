import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  type HostActivity,
  UNKNOWN_HOST_ACTIVITY,
} from '../../../main/agent/availability/host-activity.ts';
import {
  afterObservation,
  afterTime,
  afterWish,
  INITIAL_STATE,
  memoryWishOf,
  modeOf,
  type OwnerState,
  type OwnerWish,
} from '../../../main/agent/availability/availability.ts';
import {
  NO_RULES,
  type Observation,
  OWNER_RULE_KEYS,
  OWNER_RULES,
  type OwnerRules,
  SENSES,
} from '../../../main/agent/availability/rules.ts';
import { startAgent, turn, until } from '../../support/agent.ts';
import { temporaryDirectory } from '../../support/gateway.ts';

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
    wish: (wish: OwnerWish) => become(afterWish(state, wish)),
    mode: (inFlight = 0) => modeOf(state, rules, inFlight).mode,
    reasons: (inFlight = 0) => modeOf(state, rules, inFlight).reasons,
  };
}

test('a machine of which nobody has said anything is on', () => {
  const busy = { userIdleMs: 0, isOnBattery: true, gpuTemperatureC: 99, gpuUtilPercent: 100 };
  const machine = under({}).see(busy);
  expect([machine.mode(), machine.reasons()]).toEqual(['on', []]);
});

test('a pause is at once; a drain waits for what runs; both have a reason', () => {
  expect(under({}).wish('paused').mode(3)).toBe('paused');
  const drained = under({}).wish('drained');
  expect([drained.mode(3), drained.mode(0)]).toEqual(['draining', 'paused']);
  expect(drained.reasons()).toHaveLength(1);
});

describe('a rule', () => {
  test.each([
    [{ onlyWhenIdle: true }, { userIdleMs: 299_999 }, { userIdleMs: 300_000 }],
    [{ notOnBattery: true }, { isOnBattery: true }, { isOnBattery: false }],
    [{ maxGpuTemperatureC: 80 }, { gpuTemperatureC: 80 }, { gpuTemperatureC: 74 }],
  ])('%j pauses at %j and no more at %j, and never for the unknown', (rules, bad, good) => {
    const held = under(rules).see(bad);
    expect([held.mode(), held.mode(1)]).toEqual(['paused', 'draining']);
    expect(held.see(good).mode()).toBe('on');
    expect(held.see({}).mode()).toBe('on');
    expect(held.reasons()[0]).toMatch(/\S/);
  });

  test('of temperature does not switch to and fro', () => {
    const hot = under({ maxGpuTemperatureC: 80 }).see({ gpuTemperatureC: 81 });
    expect(hot.see({ gpuTemperatureC: 76 }).mode()).toBe('paused');
    expect(hot.see({ gpuTemperatureC: 74 }, { gpuTemperatureC: 79 }).mode()).toBe('on');
  });

  test('to yield holds for another program that stays, and ends when it was quiet for long', () => {
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
});

test('switching it on overrules what holds it back, until that has ended once', () => {
  const overruled = under({ notOnBattery: true }).see({ isOnBattery: true }).wish('on');
  expect(overruled.mode()).toBe('on');
  expect(overruled.see({ isOnBattery: true }).mode()).toBe('on');
  expect(overruled.see({ isOnBattery: false }, { isOnBattery: true }).mode()).toBe('paused');
});

test('a pause goes before all rules, and rules do not end it', () => {
  const held = under({ notOnBattery: true }).wish('paused').see({ isOnBattery: false });
  expect(held.mode()).toBe('paused');
});

describe('freed memory', () => {
  const freed = (untilMs: number | null) => ({ ...INITIAL_STATE, freed: { untilMs } });

  test('keeps requests away until its time is over, or its owner takes it back', () => {
    const machine = under({}, freed(1000));
    expect([machine.mode(1), machine.mode(0)]).toEqual(['draining', 'paused']);
    expect(afterTime(freed(1000), 999).freed).not.toBeNull();
    expect(afterTime(freed(1000), 1000).freed).toBeNull();
    expect(afterTime(freed(null), Number.MAX_SAFE_INTEGER).freed).not.toBeNull();
    expect(machine.wish('on').mode()).toBe('on');
  });

  test('leaves the machine paused if it was, or is, paused besides', () => {
    const paused = afterWish(freed(1000), 'paused');
    expect(under({}, paused).mode(3)).toBe('paused');
    expect(under({}, afterTime(paused, 1000)).mode()).toBe('paused');
  });

  test('is what a rule wants only if it is set so, and for the sake of others', () => {
    const wishOf = (rules: Partial<OwnerRules>, seen: Partial<Observation>, rulesFree: boolean) =>
      memoryWishOf(
        afterObservation(INITIAL_STATE, { ...NO_RULES, ...rules }, { ...QUIET, ...seen }),
        rulesFree,
      ).kind;
    const used = [{ onlyWhenIdle: true }, { userIdleMs: 0 }] as const;
    expect([wishOf(...used, true), wishOf(...used, false)]).toEqual(['freed', 'kept']);
    expect(wishOf({ maxGpuTemperatureC: 80 }, { gpuTemperatureC: 90 }, true)).toBe('kept');
  });
});

test('a wish is kept over a restart, and rules are those of the settings', async () => {
  const first = await startAgent({ rules: { maxGpuTemperatureC: 80 } });
  await first.agent.setMode('paused');
  await first.stop();
  const second = await startAgent({ dataDirectory: first.directory });
  expect(second.agent.view()).toMatchObject({
    owner: { wish: 'paused', rules: expect.objectContaining(NO_RULES), mode: 'paused' },
    record: { status: 'paused' },
  });
});

test('of a file that an earlier version left, the wish counts and the rules do not', async () => {
  const dataDirectory = temporaryDirectory();
  const rules = { ...NO_RULES, maxGpuTemperatureC: 30 };
  writeFileSync(
    join(dataDirectory, 'agent-owner.json'),
    JSON.stringify({ version: 1, wish: 'drained', rules }),
  );
  const { agent } = await startAgent({ dataDirectory });
  expect(agent.view().owner).toMatchObject({ wish: 'drained', mode: 'paused', rules: NO_RULES });
});

test('a GPU that gets hot pauses the machine at the next look, and its owner is told why', async () => {
  const { agent, telemetry, clock } = await startAgent({ rules: { maxGpuTemperatureC: 80 } });
  telemetry.card({ temperatureC: 85 });
  clock.advance(5000);
  expect(agent.view().owner).toMatchObject({
    mode: 'paused',
    reasons: [expect.stringContaining('80 °C')],
  });
});

test('a rule that changes is judged at once, in both directions', async () => {
  const { agent, rule } = await startAgent();
  rule({ maxGpuTemperatureC: 40 });
  expect(agent.view().owner.mode).toBe('paused');
  rule({ maxGpuTemperatureC: null });
  expect(agent.view().owner.mode).toBe('on');
});

describe('what the machine must be asked for', () => {
  /** Surroundings that count how often each was asked. */
  function counting() {
    const asked = { idle: 0, battery: 0 };
    const hostActivity: HostActivity = {
      userIdleMs: () => Promise.resolve(((asked.idle += 1), 0)),
      isOnBattery: () => Promise.resolve(((asked.battery += 1), true)),
    };
    return { asked, hostActivity };
  }

  test('is asked once at the start, and then only for a rule that needs it', async () => {
    const { asked, hostActivity } = counting();
    const { clock, rule, agent } = await startAgent({ hostActivity });
    clock.advance(20_000);
    await turn();
    expect(asked).toEqual({ idle: 1, battery: 1 });
    rule({ notOnBattery: true });
    await until(() => agent.view().owner.mode === 'paused');
    clock.advance(5000);
    expect(asked).toEqual({ idle: 1, battery: 3 });
  });

  test('is never asked for twice at a time', async () => {
    let [asked, running, most] = [0, 0, 0];
    let answer = () => {};
    const { clock, agent } = await startAgent({
      rules: { onlyWhenIdle: true },
      hostActivity: {
        ...UNKNOWN_HOST_ACTIVITY,
        userIdleMs() {
          asked += 1;
          running += 1;
          most = Math.max(most, running);
          return new Promise((resolve) => {
            answer = () => {
              running -= 1;
              resolve(0);
            };
          });
        },
      },
    });
    clock.advance(20_000);
    expect([asked, agent.view().owner.mode]).toEqual([1, 'on']);
    answer();
    await until(() => agent.view().owner.mode === 'paused');
    clock.advance(5000);
    expect([asked, most]).toEqual([2, 1]);
  });

  test('is stopped with the agent', async () => {
    let heard: AbortSignal | null = null;
    const { stop } = await startAgent({
      hostActivity: {
        ...UNKNOWN_HOST_ACTIVITY,
        isOnBattery(signal) {
          heard = signal;
          return Promise.resolve(null);
        },
      },
    });
    await stop();
    expect(heard).toMatchObject({ aborted: true });
  });
});

describe('a rule that nothing here can judge', () => {
  test('is named, set or not, and pauses nothing', async () => {
    const { agent, telemetry, rule } = await startAgent();
    const byHost = OWNER_RULES.filter(({ senses }) => SENSES[senses].kind === 'host');
    await until(() => agent.view().owner.unjudgeable.length === byHost.length);
    expect(agent.view().owner.unjudgeable).toEqual(byHost.map(({ key }) => key));
    telemetry.card({ temperatureC: null, utilGpu: null });
    rule({ onlyWhenIdle: true, notOnBattery: true, maxGpuTemperatureC: 30, yieldToOthers: true });
    expect(agent.view().owner).toMatchObject({ mode: 'on', unjudgeable: OWNER_RULE_KEYS });
  });

  test('is not named before the machine was asked', async () => {
    const never = () => new Promise<null>(() => {});
    const hostActivity = { userIdleMs: never, isOnBattery: never };
    const { agent, telemetry } = await startAgent({ hostActivity });
    telemetry.now = { ...telemetry.now, gpus: { state: 'starting', devices: [], problems: [] } };
    expect(agent.view().owner.unjudgeable).toEqual([]);
  });
});

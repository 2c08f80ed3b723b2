import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Circuits, createCircuits } from '../../main/gateway/circuits/circuits.ts';
import { createHealthChecks } from '../../main/gateway/circuits/health-checks.ts';
import { createManualClock } from '../support/clock.ts';
import { UNWATCHED } from '../support/circuits.ts';

const ID = 'hosted_a';
const STEP_MS = 250;
const TIMEOUT_MS = 30_000;
const UNENDING = Number.POSITIVE_INFINITY;

/** An upstream that is out of order for a while, and callers who come now and then. */
interface Outage {
  readonly limits: {
    readonly failThreshold: number;
    readonly cooldownMs: number;
    readonly ttftThresholdMs: number;
    readonly ttftSlowThreshold: number;
  };
  readonly fromMs: number;
  readonly lastsMs: number;
  /** A caller comes once in this time. */
  readonly everyMs: number;
  readonly random: number;
}

const outage: fc.Arbitrary<Outage> = fc.record({
  limits: fc.record({
    failThreshold: fc.integer({ min: 1, max: 10 }),
    cooldownMs: fc.constantFrom(1000, 15_000, 60_000, 400_000, 3_600_000),
    ttftThresholdMs: fc.constant(5000),
    ttftSlowThreshold: fc.integer({ min: 1, max: 10 }),
  }),
  fromMs: fc.integer({ min: 0, max: 30_000 }),
  lastsMs: fc.integer({ min: 1000, max: 2_000_000 }),
  everyMs: fc.constantFrom(250, 500, 1000),
  random: fc.double({ min: 0, max: 0.99, noNaN: true }),
});

/** What became of a caller who came at a time: refused without waiting, or asked. */
type Fate = 'passed by' | 'served' | 'failed';

interface World {
  readonly circuits: Circuits;
  readonly fates: { readonly atMs: number; readonly fate: Fate }[];
  /** When those were sent that the upstream let time out. */
  readonly costly: number[];
  /** When it opened, but for failed probes. */
  readonly openedMs: readonly number[];
}

/** Lives through an outage and two minutes more. */
async function live(
  { limits, fromMs, lastsMs, everyMs, random }: Outage,
  world: {
    readonly fails: 'quickly' | 'silently';
    readonly check: (isOut: boolean) => boolean;
    readonly afterMs: number;
  },
): Promise<World> {
  const clock = createManualClock();
  const isOut = () => clock.ticks() >= fromMs && clock.ticks() < fromMs + lastsMs;
  const circuits = createCircuits({
    clock,
    random: () => random,
    config: () => ({ circuit: limits }),
    ...UNWATCHED,
    opened(id, how) {
      if (how.isFirst) openedMs.push(clock.ticks());
      healthChecks.opened(id, how);
    },
  });
  const healthChecks = createHealthChecks({
    clock,
    circuits,
    isOn: () => true,
    check: () => Promise.resolve(world.check(isOut())),
  });
  const fates: World['fates'] = [];
  const costly: number[] = [];
  const openedMs: number[] = [];

  function ask(): void {
    const atMs = clock.ticks();
    const tell = (fate: Fate) => void fates.push({ atMs, fate });
    const entry = circuits.admit(ID, { model: '', timeoutMs: TIMEOUT_MS }, 0);
    if (entry.kind === 'excluded') return tell('passed by');
    circuits.sent(ID);
    if (!isOut()) {
      circuits.firstContent(ID, entry.permit, { ttftMs: 10, slowMs: 10 });
      circuits.record(ID, entry.permit, { kind: 'success' });
      return tell('served');
    }
    tell('failed');
    const failed = (silentMs: number, costMs: number) =>
      circuits.record(ID, entry.permit, { kind: 'failure', error: 'x', silentMs, costMs });
    if (world.fails === 'quickly') return failed(0, 1);
    costly.push(atMs);
    clock.after(TIMEOUT_MS, () => failed(TIMEOUT_MS, UNENDING));
  }

  const endMs = fromMs + lastsMs + world.afterMs;
  for (let atMs = 0; atMs < endMs; atMs += STEP_MS) {
    if (atMs % everyMs === 0) ask();
    clock.advance(STEP_MS);
    // The result of a check arrives a few turns later.
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  }
  return { circuits, fates, costly, openedMs };
}

const RUNS = { numRuns: 200 };

test('an upstream that fails quickly is used again within 16 s of being well, whatever the thresholds', async () => {
  const property = fc.asyncProperty(outage, async (given) => {
    const { fates } = await live(given, {
      fails: 'quickly',
      check: (isOut) => !isOut,
      afterMs: 40_000,
    });
    const wellMs = given.fromMs + given.lastsMs;
    const late = fates.filter(({ atMs }) => atMs >= wellMs + 16_000 + given.everyMs);
    expect(new Set(late.map(({ fate }) => fate))).toEqual(new Set(['served']));
  });
  await expect(fc.assert(property, RUNS)).resolves.toBeUndefined();
}, 60_000);

test('an upstream that fails quickly and always passes its checks is used within 16 s, for one probe in 15 s', async () => {
  const property = fc.asyncProperty(outage, async (given) => {
    const { fates } = await live(given, { fails: 'quickly', check: () => true, afterMs: 40_000 });
    const wellMs = given.fromMs + given.lastsMs;
    const late = fates.filter(({ atMs }) => atMs >= wellMs + 16_000 + given.everyMs);
    expect(new Set(late.map(({ fate }) => fate))).toEqual(new Set(['served']));
    const failed = fates.filter(({ fate }) => fate === 'failed').slice(given.limits.failThreshold);
    const apart = Math.min(15_000, given.limits.cooldownMs * 0.9) - STEP_MS;
    for (const [n, { atMs }] of failed.slice(1).entries()) {
      expect(atMs - (failed[n]?.atMs ?? 0)).toBeGreaterThanOrEqual(apart);
    }
  });
  await expect(fc.assert(property, RUNS)).resolves.toBeUndefined();
}, 60_000);

test('an upstream that hangs costs one slow probe for each doubling of the cool-down, however its checks go', async () => {
  const property = fc.asyncProperty(outage, fc.boolean(), async (given, passesChecks) => {
    const { costly, circuits, openedMs } = await live(given, {
      fails: 'silently',
      check: () => passesChecks,
      afterMs: -1000,
    });
    const { state } = circuits.at(ID).breaker;
    const [openedAt] = openedMs;
    if (state.kind === 'closed' || openedAt === undefined) return;
    const { cooldownMs } = given.limits;
    const probes = costly.filter((atMs) => atMs >= openedAt);
    expect(probes.length).toBeLessThanOrEqual(state.consecutiveOpens);
    let pauseMs = cooldownMs;
    for (const [n, atMs] of probes.slice(1).entries()) {
      pauseMs = Math.min(pauseMs * 2, Math.max(cooldownMs, 600_000));
      expect(atMs - (probes[n] ?? 0)).toBeGreaterThanOrEqual(pauseMs * 0.9 - STEP_MS);
    }
  });
  await expect(fc.assert(property, RUNS)).resolves.toBeUndefined();
}, 60_000);

test('an upstream that hung and then failed its checks is used again within 16 s of being well', async () => {
  const property = fc.asyncProperty(outage, async (given) => {
    // Long enough for a check to have failed: a cool-down of 1 s has to double five times before there is one.
    const lasting = { ...given, lastsMs: given.lastsMs + 400_000 };
    const { fates } = await live(lasting, {
      fails: 'silently',
      check: (isOut) => !isOut,
      afterMs: 120_000,
    });
    const wellMs = lasting.fromMs + lasting.lastsMs;
    // A probe that was sent just before is recorded only after its timeout.
    const late = fates.filter(({ atMs }) => atMs >= wellMs + TIMEOUT_MS + 16_000 + given.everyMs);
    expect(new Set(late.map(({ fate }) => fate))).toEqual(new Set(['served']));
  });
  await expect(fc.assert(property, RUNS)).resolves.toBeUndefined();
}, 60_000);

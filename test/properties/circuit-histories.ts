import * as fc from 'fast-check';
import {
  admissionTo,
  type Admission,
  type Breaker,
  firstContent,
  type Limits,
  NEW_BREAKER,
  type Permit,
  record,
  reset,
  type Result,
  sent,
} from '../../main/gateway/circuits/breaker.ts';
import { circuitCodec } from '../../main/gateway/monitoring/saved-state.ts';
import { later, type DualTime } from '../../main/platform/clock.ts';

/** One thing that can happen to a breaker; `back` counts permits from the last one issued. */
export type Event =
  | { readonly kind: 'admit'; readonly timeoutMs: number }
  | { readonly kind: 'admit_anyway'; readonly timeoutMs: number }
  | { readonly kind: 'first_content'; readonly back: number; readonly ttftMs: number }
  | {
      readonly kind: 'result';
      readonly back: number;
      readonly result: Result;
      readonly random: number;
    }
  | { readonly kind: 'pass'; readonly ms: number }
  /** The wall clock is set, or the machine slept. */
  | { readonly kind: 'wall_jump'; readonly ms: number }
  | { readonly kind: 'reset' }
  /** The process restarts after `downMs`. */
  | { readonly kind: 'restart'; readonly downMs: number }
  | { readonly kind: 'limits'; readonly limits: Limits };

/** A breaker and its surroundings. */
export interface World {
  readonly breaker: Breaker;
  readonly now: DualTime;
  readonly limits: Limits;
  /** All permits issued since the start of the process. */
  readonly tickets: readonly Permit[];
  /** The probe without a result, as its caller knows it. */
  readonly probe: Probe | null;
}

/** A running probe. */
export interface Probe {
  readonly permit: Permit;
  readonly since: DualTime;
  readonly timeoutMs: number;
  /** Its first content has come, in time if the circuit opened by slow calls alone, and no call next to it has failed. */
  readonly isAnswering: boolean;
}

/** One event with the worlds around it. */
export interface Step {
  readonly before: World;
  readonly event: Event;
  /** The permit that the event is about. */
  readonly permit: Permit | null;
  readonly admission: Admission | null;
  readonly after: World;
}

const MINUTE_MS = 60_000;

/** The longest cool-down with these histories' limits. */
export const LONGEST_COOLDOWN_MS = 20 * MINUTE_MS * 1.1;

const limits: fc.Arbitrary<Limits> = fc.record({
  failThreshold: fc.integer({ min: 1, max: 3 }),
  cooldownMs: fc.constantFrom(1, 1000, MINUTE_MS, 10 * MINUTE_MS, 20 * MINUTE_MS),
  ttftThresholdMs: fc.constantFrom(100, 5000),
  ttftSlowThreshold: fc.integer({ min: 1, max: 3 }),
});

/** A failure that cost its caller nothing. */
export const QUICK: Result = { kind: 'failure', error: 'http_500', silentMs: 0, costMs: 0 };
const UNENDING = Number.POSITIVE_INFINITY;
/** A timeout, and an answer that broke off. */
export const SILENT: Result = {
  kind: 'failure',
  error: 'timeout',
  silentMs: 5000,
  costMs: UNENDING,
};
const BROKEN: Result = { kind: 'failure', error: 'cut', silentMs: 0, costMs: UNENDING };
/** Another call was quicker than one that had been silent for so long. */
const outrun = (ms: number): Result => ({ kind: 'outrun', silentMs: ms, slowMs: ms });
const back = fc.constantFrom(0, 0, 0, 1, 2, 3);
const random = fc.nat(999).map((n) => n / 1000);
const timeoutMs = fc.constantFrom(1000, 30_000, MINUTE_MS);
const admission: fc.Arbitrary<Event> = fc.record({
  kind: fc.constantFrom('admit', 'admit', 'admit', 'admit_anyway'),
  timeoutMs,
});
const content: fc.Arbitrary<Event> = fc.record({
  kind: fc.constant('first_content'),
  back,
  ttftMs: fc.constantFrom(0, 100, 101, 5001, 5001),
});
const result: fc.Arbitrary<Event> = fc.record({
  kind: fc.constant('result'),
  back,
  result: fc.constantFrom<Result[]>(
    QUICK,
    SILENT,
    BROKEN,
    outrun(50),
    outrun(5001),
    { kind: 'success' },
    { kind: 'neutral' },
  ),
  random,
});
const pass: fc.Arbitrary<Event> = fc.record({
  kind: fc.constant('pass'),
  ms: fc.constantFrom(0, 1, 999, 2000, 31_000, MINUTE_MS, 2 * MINUTE_MS, 11 * MINUTE_MS),
});
const wallJump: fc.Arbitrary<Event> = fc.record({
  kind: fc.constant('wall_jump'),
  ms: fc.constantFrom(-3_600_000, -5000, -500, 500, 5000, MINUTE_MS, 3_600_000),
});
const restart: fc.Arbitrary<Event> = fc.record({
  kind: fc.constant('restart'),
  downMs: fc.constantFrom(-5000, 0, 1000, MINUTE_MS, 3_600_000),
});

/** Events as they mostly come, in short runs: left to pure chance hardly any breaker would ever open twice. */
const run: fc.Arbitrary<Event[]> = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(admission, result) },
  { weight: 4, arbitrary: fc.tuple(pass, admission, result) },
  { weight: 4, arbitrary: fc.tuple(admission, content, result) },
  { weight: 3, arbitrary: fc.tuple(admission) },
  { weight: 3, arbitrary: fc.tuple(result) },
  { weight: 2, arbitrary: fc.tuple(content) },
  { weight: 4, arbitrary: fc.tuple(pass) },
  { weight: 1, arbitrary: fc.tuple(wallJump) },
  { weight: 1, arbitrary: fc.tuple(restart) },
  { weight: 1, arbitrary: fc.constant<Event[]>([{ kind: 'reset' }]) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('limits'), limits }).map((e) => [e]) },
);

/** What happens to a breaker from its first request on. */
export const history = fc.record({
  limits,
  events: fc.array(run, { maxLength: 20, size: 'max' }).map((runs) => runs.flat()),
});

/** A history as generated. */
export type History = typeof history extends fc.Arbitrary<infer T> ? T : never;

/** Plays a history; every value on the way is frozen, so that nothing can be changed in place. */
export function play({ limits: first, events }: History): readonly Step[] {
  let world: World = {
    breaker: NEW_BREAKER,
    now: { ticks: 5000, wallMs: Date.UTC(2026, 0, 1) },
    limits: first,
    tickets: [],
    probe: null,
  };
  return events.map((event) => {
    const step = stepOf(world, event);
    world = step.after;
    return step;
  });
}

function stepOf(before: World, event: Event): Step {
  const permit = 'back' in event ? (before.tickets.at(-1 - event.back) ?? null) : null;
  const admitted = admissionOf(before, event);
  const step = { before, event, permit, admission: admitted };
  const after = worldAfter(step);
  deepFreeze(after.breaker);
  return { ...step, after };
}

function admissionOf({ breaker, now }: World, event: Event): Admission | null {
  if (event.kind === 'admit') return admissionTo(breaker, now, 'in_turn', event.timeoutMs);
  return event.kind === 'admit_anyway'
    ? admissionTo(breaker, now, 'forced', event.timeoutMs)
    : null;
}

function worldAfter({ before, event, permit, admission: admitted }: Omit<Step, 'after'>): World {
  const { breaker, now } = before;
  switch (event.kind) {
    case 'admit':
    case 'admit_anyway':
      return admitted?.kind === 'admitted' ? sentAfter(before, admitted, event.timeoutMs) : before;
    case 'first_content':
    case 'result':
      return permit === null ? before : heardOf(before, event, permit);
    case 'pass':
      return { ...before, now: later(now, event.ms) };
    case 'wall_jump':
      return { ...before, now: { ...now, wallMs: now.wallMs + event.ms } };
    case 'reset':
      return { ...before, breaker: reset(breaker), probe: null };
    case 'restart':
      return restarted(before, event.downMs);
    case 'limits':
      return { ...before, limits: event.limits };
  }
}

function sentAfter(
  world: World,
  { permit, breaker }: Extract<Admission, { readonly kind: 'admitted' }>,
  probeTimeoutMs: number,
): World {
  const isProbe = breaker.state.kind !== 'closed' && breaker.serial === permit.serial;
  const probe = { permit, since: world.now, timeoutMs: probeTimeoutMs, isAnswering: false };
  return {
    ...world,
    breaker: sent(breaker),
    tickets: [...world.tickets, permit],
    probe: isProbe ? probe : world.probe,
  };
}

function heardOf(
  world: World,
  event: Extract<Event, { readonly back: number }>,
  permit: Permit,
): World {
  const { breaker, now, limits: present } = world;
  const isOfProbe = world.probe?.permit.serial === permit.serial;
  if (event.kind === 'first_content') {
    const judging = { now, limits: present };
    const took = { silentMs: event.ttftMs, slowMs: event.ttftMs };
    const isInTime = event.ttftMs <= present.ttftThresholdMs || breaker.health.consecutiveFails > 0;
    const probe = isOfProbe ? { ...world.probe, isAnswering: isInTime } : world.probe;
    return { ...world, probe, breaker: firstContent(breaker, permit, took, judging) };
  }
  const judging = { now, limits: present, random: event.random };
  const isDoubt = event.result.kind === 'failure' && permit.nextTo === world.probe?.permit.serial;
  const probe = isDoubt && world.probe ? { ...world.probe, isAnswering: false } : world.probe;
  return {
    ...world,
    breaker: record(breaker, permit, event.result, judging),
    probe: isOfProbe ? null : probe,
  };
}

/** The same breaker in a process whose ticks begin elsewhere. */
export function restarted(world: World, downMs: number): World {
  const circuit = { breaker: world.breaker, epoch: 0 };
  const saved: unknown = JSON.parse(JSON.stringify(circuitCodec.encode(circuit, world.now)));
  const now = { ticks: 17, wallMs: world.now.wallMs + downMs };
  const decoded = circuitCodec.decode(saved, now);
  if (decoded === null) throw new Error(`cannot be decoded: ${JSON.stringify(saved)}`);
  return { ...world, breaker: decoded.breaker, now, tickets: [], probe: null };
}

/** Throws with the step when a property is broken; vitest's `expect` is too slow for a million of them. */
export function check(holds: boolean, step: unknown): void {
  if (!holds) throw new Error(`broken at ${JSON.stringify(step, null, 1)}`);
}

function deepFreeze(value: object): void {
  if (Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const inner of Object.values(value)) {
    if (typeof inner === 'object' && inner !== null) deepFreeze(inner);
  }
}

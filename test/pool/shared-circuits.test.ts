import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Circuits, createCircuits } from '../../main/gateway/circuits/circuits.ts';
import { activeExclusions } from '../../main/gateway/circuits/exclusions.ts';
import { circuitReport, exclusionReports } from '../../main/gateway/monitoring/status.ts';
import type { Failure } from '../../main/gateway/upstream/failure.ts';
import { dualTimeOf } from '../../main/platform/clock.ts';
import { createSharedCircuits } from '../../main/pool/shared-circuits.ts';
import { UNWATCHED } from '../support/circuits.ts';
import { createManualClock, type ManualClock } from '../support/clock.ts';
import { createPoolBoard, type PoolBoard } from './pool-board.ts';

const ID = 'hosted_a';
const REQUEST = { model: 'm', timeoutMs: 30_000 };
const LIMITS = {
  failThreshold: 2,
  cooldownMs: 60_000,
  ttftThresholdMs: 5000,
  ttftSlowThreshold: 3,
};
const FAILED = { kind: 'failure', error: 'http_503: gone', silentMs: 0, costMs: 10 } as const;

interface Peer {
  readonly circuits: Circuits;
  /** Tells and hears, as every second. */
  exchange(): void;
  /** Its exchange gets no answer, and the others read it only if it `hasArrived`. */
  unanswered(options?: { readonly hasArrived: boolean }): void;
  isAlone: boolean;
  name: string;
}

interface PeerOptions {
  readonly random?: () => number;
  /** By how much its clock is ahead of the others'. */
  readonly aheadMs?: number;
}

function peer(
  run: string,
  { clock, board }: { readonly clock: ManualClock; readonly board: PoolBoard },
  { random = () => 0.4, aheadMs = 0 }: PeerOptions = {},
): Peer {
  const own = { ...clock, now: () => clock.now() + aheadMs, ticks: () => clock.ticks() + aheadMs };
  const inner = createCircuits({
    clock: own,
    random,
    config: () => ({ circuit: LIMITS }),
    ...UNWATCHED,
    opened() {},
  });
  const self: Peer = {
    circuits: inner,
    exchange() {
      const ticks = own.ticks();
      shared.received(send(), ticks);
    },
    unanswered({ hasArrived } = { hasArrived: false }) {
      if (hasArrived) send();
      else shared.outgoing();
      shared.received(null, own.ticks());
    },
    isAlone: false,
    name: ID,
  };
  const shared = createSharedCircuits(inner, {
    clock: own,
    random,
    isAlone: () => self.isAlone,
    nameOf: (id) => (id === ID ? self.name : id),
    isKnown: () => true,
    changed() {},
  });
  const send = () => board.exchange(run, { ...shared.outgoing(), inFlight: {}, prefixes: [] });
  return Object.assign(self, { circuits: shared.circuits });
}

function pool(options: readonly PeerOptions[] = [{}, {}, {}]) {
  const clock = createManualClock();
  const world = { clock, board: createPoolBoard(clock) };
  const peers = options.map((each, n) => peer(`gw_${n}`, world, each));
  const [a, b, c] = peers as [Peer, Peer, Peer];
  const exchangeAll = () => peers.forEach((each) => each.exchange());
  return {
    clock,
    a,
    b,
    c,
    peers,
    /** Everybody knows what everybody has told. */
    settle: () => {
      for (let n = 0; n < 3; n += 1) exchangeAll();
    },
    pass: (ms: number) => {
      for (let left = ms; left > 0; left -= 1000) {
        clock.advance(Math.min(left, 1000));
        exchangeAll();
      }
    },
  };
}

const admit = ({ circuits }: Peer) => circuits.admit(ID, REQUEST, circuits.epoch());

function call(at: Peer, result: Parameters<Circuits['record']>[2]): boolean {
  const admission = admit(at);
  if (admission.kind === 'excluded') return false;
  at.circuits.sent(ID);
  at.circuits.record(ID, admission.permit, result);
  return true;
}

function open(at: Peer): void {
  for (let n = 0; n < LIMITS.failThreshold; n += 1) call(at, FAILED);
}

const stateAt = ({ circuits }: Peer) => circuits.at(ID).breaker.state.kind;
const leftAt = ({ circuits }: Peer) => circuits.exclusionOf(ID, 'm')?.waitMs ?? 0;

const failure = (reason: Failure['reason'], retryAfterMs: number | null = null) =>
  ({ reason, retryAfterMs }) as Failure;

test('a circuit that opens at one gateway is open at all of them, for as long, whatever their clocks say', () => {
  const { clock, a, b, c, settle } = pool([{}, { aheadMs: 7_200_000 }, { aheadMs: 5 }]);
  open(a);
  clock.advance(700);
  settle();
  expect([a, b, c].map(leftAt)).toEqual([59_300, 59_300, 59_300]);
  clock.advance(10_000);
  expect([a, b, c].map(leftAt)).toEqual([49_300, 49_300, 49_300]);
  const { breaker } = b.circuits.at(ID);
  const now = { ticks: clock.ticks() + 7_200_000, wallMs: clock.now() + 7_200_000 };
  expect(circuitReport(breaker, now)).toMatchObject({ open: true, lastError: 'http_503: gone' });
});

test('what a gateway learns after an exchange of which only the answer was lost reaches the others', () => {
  const { a, b, c, settle } = pool();
  a.circuits.excludeAfter(ID, failure('model_not_found'), { model: 'other', epoch: 0 });
  a.unanswered({ hasArrived: true });
  open(a);
  settle();
  expect([a, b, c].map(stateAt)).toEqual(['open', 'open', 'open']);
});

test('an exclusion holds at every gateway, for its model and its time, and the longer of two stays', () => {
  const { clock, a, b, c, settle } = pool();
  const of = { model: 'm', epoch: 0 };
  a.circuits.excludeAfter(ID, failure('model_not_found'), of);
  a.circuits.excludeAfter(ID, failure('rate_limited', 20_000), of);
  b.circuits.excludeAfter(ID, failure('rate_limited', 40_000), of);
  settle();
  for (const each of [a, b, c]) {
    const { exclusions } = each.circuits.at(ID);
    const skips = exclusionReports(exclusions, dualTimeOf(clock));
    expect(skips.map(({ reason }) => reason).toSorted()).toEqual([
      'model_not_found',
      'rate_limited',
    ]);
    expect(each.circuits.exclusionOf(ID, 'other')).toMatchObject({ waitMs: 40_000 });
  }
});

test('one gateway probes after the cool-down, and the others know its result', () => {
  for (const result of [{ kind: 'success' } as const, FAILED]) {
    const { a, b, c, settle, pass } = pool();
    open(b);
    settle();
    pass(60_000);
    // The one that opened it has asked for the probe in good time, so its next request is the probe.
    expect([a, c].map((each) => admit(each).kind)).toEqual(['excluded', 'excluded']);
    expect(leftAt(a)).toBeGreaterThan(0);
    const probe = admit(b);
    expect(probe.kind).toBe('admitted');
    settle();
    expect([a, b, c].map((each) => admit(each).kind)).toEqual(Array(3).fill('excluded'));
    if (probe.kind === 'admitted') b.circuits.record(ID, probe.permit, result);
    settle();
    const expected = result.kind === 'success' ? ['closed', 0] : ['open', 58_800];
    expect([a, b, c].map((each) => [stateAt(each), leftAt(each)])).toEqual(Array(3).fill(expected));
  }
});

test('a gateway without requests leaves the probe to one that has some', () => {
  const { a, b, settle, pass } = pool();
  open(b);
  settle();
  pass(60_000);
  let seconds = 0;
  while (admit(a).kind === 'excluded' && seconds < 20) {
    pass(1000);
    seconds += 1;
  }
  expect(seconds).toBeLessThanOrEqual(4);
  expect(admit(b).kind).toBe('excluded');
});

test('two gateways with a request a minute in turn do not keep each other from the probe', () => {
  let n = 0;
  // Not always the same side of a half.
  const random = () => ((n += 1) % 3) / 3;
  const { a, b, settle, pass } = pool([{ random }, { random }, { random }]);
  open(a);
  settle();
  let minutes = 0;
  while (admit(minutes % 2 === 0 ? b : a).kind === 'excluded' && minutes < 20) {
    pass(60_000);
    minutes += 1;
  }
  expect(minutes).toBeLessThan(10);
});

test('the probe of a gateway that died passes to another within five seconds', () => {
  const { clock, a, b, settle } = pool();
  open(b);
  settle();
  for (let n = 0; n < 60; n += 1) {
    clock.advance(1000);
    a.exchange();
    b.exchange();
  }
  expect(admit(b).kind).toBe('admitted');
  let seconds = 0;
  while (admit(a).kind === 'excluded' && seconds < 20) {
    clock.advance(1000);
    a.exchange();
    seconds += 1;
  }
  expect(seconds).toBeLessThanOrEqual(5);
});

test('a request never waits for a claim: without an answer, it leaves the probe to other gateways', () => {
  const { clock, a, b, settle, pass } = pool();
  open(b);
  settle();
  pass(50_000);
  clock.advance(12_000);
  b.unanswered();
  expect([a, b].map((each) => admit(each).kind)).toEqual(['excluded', 'excluded']);
});

test('a gateway without the database probes by itself, and reports the result afterwards', () => {
  const { clock, a, b, settle } = pool();
  open(a);
  settle();
  clock.advance(60_000);
  b.isAlone = true;
  expect(call(b, { kind: 'success' })).toBe(true);
  b.unanswered();
  expect([a, b].map(stateAt)).toEqual(['open', 'closed']);
  b.isAlone = false;
  settle();
  expect([a, b].map(stateAt)).toEqual(['closed', 'closed']);
});

test('a reset by hand holds at every gateway, and no earlier answer undoes it', () => {
  const { a, b, c, settle } = pool();
  const early = admit(c);
  open(a);
  b.circuits.excludeAfter(ID, failure('quota'), { model: 'm', epoch: 0 });
  settle();
  b.circuits.reset(ID);
  settle();
  for (const each of [a, b, c]) {
    expect([stateAt(each), each.circuits.exclusionOf(ID, 'm')]).toEqual(['closed', null]);
    expect(each.circuits.epoch()).toBeGreaterThan(0);
  }
  if (early.kind === 'admitted') c.circuits.record(ID, early.permit, FAILED);
  expect(c.circuits.at(ID).breaker.health.consecutiveFails).toBe(0);
});

test('a circuit that opens while another gateway closes it stays open', () => {
  const { clock, a, b, settle, pass } = pool();
  open(a);
  settle();
  pass(60_000);
  expect(call(a, { kind: 'success' })).toBe(true);
  settle();
  a.circuits.reset(ID);
  settle();
  open(b);
  a.circuits.excludeAfter(ID, failure('busy'), { model: 'm', epoch: a.circuits.epoch() });
  clock.advance(100);
  settle();
  expect([a, b].map(stateAt)).toEqual(['open', 'open']);
});

test('gateways share no circuit of an upstream whose address or key differs between them', () => {
  const { a, b, settle } = pool();
  b.name = `${ID} of-another-key`;
  open(a);
  settle();
  expect([a, b].map(stateAt)).toEqual(['open', 'closed']);
  // Its key is replaced by the one that the others have: it knows what they know.
  b.name = ID;
  b.circuits.replaced(ID);
  settle();
  expect([a, b].map(stateAt)).toEqual(['open', 'open']);
});

test('all gateways agree in the end, whatever happens in whatever order, and only one at a time has probed', () => {
  const step = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({ kind: fc.constant('call' as const), at: fc.nat(2), ok: fc.boolean() }),
    },
    { weight: 5, arbitrary: fc.record({ kind: fc.constant('exchange' as const), at: fc.nat(2) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.nat(30_000) }) },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('skip' as const),
        at: fc.nat(2),
        ms: fc.nat(30_000),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('reset' as const), at: fc.nat(2) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('cool' as const), at: fc.nat(2) }) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { clock, peers, settle, pass } = pool();
      for (const each of steps) {
        const at = 'at' in each ? peers[each.at] : undefined;
        if (each.kind === 'pass') pass(each.ms);
        if (at === undefined) continue;
        if (each.kind === 'call') call(at, each.ok ? { kind: 'success' } : FAILED);
        if (each.kind === 'exchange') at.exchange();
        if (each.kind === 'reset') at.circuits.reset(ID);
        if (each.kind === 'cool') at.circuits.coolDown(ID);
        if (each.kind === 'skip')
          at.circuits.excludeAfter(ID, failure('rate_limited', each.ms), {
            model: 'm',
            epoch: at.circuits.epoch(),
          });
      }
      settle();
      settle();
      const known = peers.map(({ circuits }) => [
        circuits.at(ID).breaker.state.kind === 'closed',
        activeExclusions(circuits.at(ID).exclusions, dualTimeOf(clock)).map(
          ({ until }) => until.ticks,
        ),
      ]);
      expect(known[1]).toEqual(known[0]);
      expect(known[2]).toEqual(known[0]);
      clock.advance(700_000);
      settle();
      const running = peers.map((each) => admit(each).kind);
      const isClosed = known[0]?.[0] === true;
      expect(running.filter((kind) => kind === 'admitted').length).toBeLessThanOrEqual(
        isClosed ? 3 : 1,
      );
    }),
    { numRuns: 100 },
  );
});

import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import { loadConfig } from '../../../main/config/load.ts';
import { createEndpointSupport } from '../../../main/gateway/routing/endpoint-support.ts';
import { createCircuits } from '../../../main/gateway/circuits/circuits.ts';
import type { RequestObserver } from '../../../main/gateway/routing/observer.ts';
import { Walk } from '../../../main/gateway/routing/walk.ts';
import { createPrefixes } from '../../../main/gateway/routing/prefixes.ts';
import { createPredictions } from '../../../main/gateway/routing/predictions.ts';
import { createWindows } from '../../../main/gateway/routing/windows.ts';
import { isBadRequest, parseChatRequest } from '../../../main/gateway/protocols/chat-request.ts';
import { classify } from '../../../main/gateway/upstream/failure.ts';
import { parseBaseAddress, remoteUpstreams } from '../../../main/gateway/upstream/upstreams.ts';
import { CHAT_COMPLETIONS } from '../../../main/gateway/protocols/chat/endpoint.ts';
import { createManualClock } from '../../support/clock.ts';
import { at } from '../../support/words.ts';
import { UNWATCHED } from '../../support/circuits.ts';
import { chatCall } from '../../support/chat-call.ts';

/** Nothing is called in these tests. */
const UNOBSERVED: RequestObserver = {
  traceparent: null,
  attemptStarted: () => {
    throw new Error('nothing is called');
  },
  answering() {},
  ended() {},
};

type State = 'absent' | 'well' | 'out';

/** Each remote upstream's state, and whether `local` is known to read too slowly. */
interface Situation {
  readonly states: Readonly<Record<Exclude<UpstreamId, 'local'>, State>>;
  readonly isSlow: boolean;
  readonly zeroSpend: boolean;
  readonly hedge: 'own' | 'all' | 'off';
}

const TIMED_OUT = classify(
  { kind: 'timeout', wasSilent: true },
  { upstream: 'hosted_a', endpoint: CHAT_COMPLETIONS },
  0,
);
const BODY = JSON.stringify({ messages: [{ role: 'user', content: 'x'.repeat(10_000) }] });

function walkFor({ states, isSlow, zeroSpend, hedge }: Situation): Walk {
  const clock = createManualClock();
  const set = Object.entries(states).filter(([, state]) => state !== 'absent');
  const urls = at(Object.fromEntries(set.map(([id]) => [id, `http://${id}.test`])));
  const settings = Object.entries({ HEDGE: hedge, FAIL_THRESHOLD: '1', ...urls });
  const env = Object.fromEntries(settings.map(([name, value]) => [`SWITCHYARD_${name}`, value]));
  const loaded = loadConfig(env, {});
  const request = parseChatRequest(Buffer.from(BODY));
  if (loaded.kind === 'refused' || isBadRequest(request)) throw new Error('no request');
  const { config } = loaded;
  const random = () => 0.5;
  const circuits = createCircuits({
    clock,
    random,
    config: () => config,
    ...UNWATCHED,
    opened() {},
  });
  const failure = { kind: 'failure', error: 'timeout', silentMs: 0, costMs: 0 } as const;
  for (const [id, state] of set) {
    if (state === 'out') circuits.record(id, { serial: 0 }, failure);
  }
  const predictions = createPredictions(clock);
  const msPerByte = isSlow ? 1 : 0.01;
  for (let n = 1; n <= 20; n += 1) predictions.sample('local', n * 100, n * 100 * msPerByte);
  const baseAddress = parseBaseAddress('http://local.test', 'local');
  const target = { provider: null, baseAddress, models: null, ownedBy: null, gatewayToken: null };
  return new Walk(
    {
      call: { ...chatCall(request), zeroSpend },
      config,
      remotes: remoteUpstreams(config),
      preferred: null,
      epoch: 0,
      signal: new AbortController().signal,
      observer: UNOBSERVED,
      reserveCopy: () => true,
    },
    {
      clock,
      circuits,
      support: createEndpointSupport(clock),
      predictions,
      prefixes: createPrefixes(clock),
      random,
      inFlightAt: () => 0,
      isRunning: () => false,
      pickLocal: () => ({ kind: 'target', target }),
      windows: createWindows(clock),
      budgets: { isSpent: () => false },
    },
    () => {},
  );
}

/** The upstreams called where every call fails. */
function calledBy(walk: Walk): UpstreamId[] {
  const called: UpstreamId[] = [];
  for (let turn = walk.next(); turn !== null; turn = walk.next()) {
    called.push(turn.step.upstream);
    walk.failed(turn, TIMED_OUT);
  }
  return called;
}

const state = fc.constantFrom<State[]>('absent', 'well', 'out');
const situation: fc.Arbitrary<Situation> = fc.record({
  states: fc.record({ hosted_a: state, hosted_b: state, hosted_c: state, ondemand: state }),
  isSlow: fc.boolean(),
  zeroSpend: fc.boolean(),
  hedge: fc.constantFrom('own', 'all', 'off'),
});

test('each upstream that admits is called once, local first, or last where it is slow and another admits', () => {
  const property = fc.property(situation, (given) => {
    const others = UPSTREAM_IDS.filter(
      (id) => id !== 'local' && given.states[id] === 'well' && !given.zeroSpend,
    );
    const isDeferred = given.isSlow && given.hedge === 'all' && others.length > 0;
    const walk = walkFor(given);
    const called = calledBy(walk);
    expect(called).toEqual(isDeferred ? [...others, 'local'] : ['local', ...others]);
    const failed = walk.outcomes(null).filter(({ kind }) => kind === 'failed');
    expect(failed.map(({ upstream }) => upstream)).toEqual(called);
  });
  fc.assert(property, { numRuns: 500 });
});

test('a hedged call goes only to healthy, allowed upstreams, in routing order, each once', () => {
  const property = fc.property(situation, (given) => {
    const walk = walkFor({ ...given, isSlow: false });
    walk.next();
    const hedged: UpstreamId[] = [];
    for (let turn = walk.hedge(() => true); turn !== null; turn = walk.hedge(() => true)) {
      hedged.push(turn.step.upstream);
    }
    const well = UPSTREAM_IDS.filter((id) => id !== 'local' && given.states[id] === 'well');
    expect(hedged).toEqual(given.zeroSpend ? [] : well);
  });
  fc.assert(property, { numRuns: 300 });
});

test('an upstream that may not be hedged to is skipped by the hedge and called in its turn', () => {
  const states = {
    hosted_a: 'well',
    hosted_b: 'well',
    hosted_c: 'absent',
    ondemand: 'absent',
  } as const;
  const walk = walkFor({ states, isSlow: false, zeroSpend: false, hedge: 'own' });
  walk.next();
  expect(walk.ahead()).toEqual(['hosted_a', 'hosted_b']);
  expect(walk.hedge(({ upstream }) => upstream === 'hosted_b')?.step.upstream).toBe('hosted_b');
  expect(walk.ahead()).toEqual(['hosted_a']);
  expect(walk.next()?.step.upstream).toBe('hosted_a');
});

test('a local that is put last is still ahead in the walk, though not for a hedged call', () => {
  const states = {
    hosted_a: 'well',
    hosted_b: 'absent',
    hosted_c: 'absent',
    ondemand: 'absent',
  } as const;
  const walk = walkFor({ states, isSlow: true, zeroSpend: false, hedge: 'all' });
  expect(walk.next()?.step.upstream).toBe('hosted_a');
  expect(walk.ahead()).toEqual(['local']);
  expect(walk.hedge(() => true)).toBeNull();
  expect(walk.next()?.step.upstream).toBe('local');
  expect(walk.ahead()).toEqual([]);
});

test('a walk has nothing left, in turn or forced, after a failure that must not fall back', () => {
  const states = {
    hosted_a: 'well',
    hosted_b: 'out',
    hosted_c: 'absent',
    ondemand: 'absent',
  } as const;
  const walk = walkFor({ states, isSlow: false, zeroSpend: false, hedge: 'all' });
  const first = walk.next();
  if (first === null) throw new Error('no call');
  expect(walk.hasFallback()).toBe(true);
  walk.failed(first, { ...TIMED_OUT, fallBack: 'never' });
  expect([walk.next(), walk.hedge(() => true), walk.forceSoonest()]).toEqual([null, null, null]);
  expect([walk.ahead(), walk.hasFallback()]).toEqual([[], false]);
  expect(walk.outcomes(null).map(({ upstream }) => upstream)).toEqual(['local']);
});

import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import { loadConfig } from '../../../main/config/load.ts';
import { createEndpointSupport } from '../../../main/gateway/routing/upstream-support.ts';
import { createCircuits } from '../../../main/gateway/circuits/circuits.ts';
import { FallbackPlan } from '../../../main/gateway/routing/fallback-plan.ts';
import { createPredictions } from '../../../main/gateway/routing/ttft-predictions.ts';
import { isBadRequest, parseChatRequest } from '../../../main/gateway/upstream/chat-request.ts';
import { classify } from '../../../main/gateway/upstream/failure.ts';
import { parseBaseAddress, remoteUpstreams } from '../../../main/gateway/upstream/upstreams.ts';
import { CHAT_COMPLETIONS } from '../../../main/gateway/upstream/protocols/chat.ts';
import { createManualClock } from '../../support/clock.ts';
import { at } from '../../support/words.ts';
import { UNWATCHED } from '../../support/circuits.ts';

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

function planFor({ states, isSlow, zeroSpend, hedge }: Situation): FallbackPlan {
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
  return new FallbackPlan(
    {
      call: {
        request,
        headers: {},
        authorization: null,
        zeroSpend,
        chatForm: null,
        native: () => request,
        translator: null,
      },
      config,
      remotes: remoteUpstreams(config),
      epoch: 0,
    },
    {
      clock,
      circuits,
      support: createEndpointSupport(clock),
      predictions,
      random,
      inFlightAt: () => 0,
      pickLocal: () => ({ kind: 'target', target }),
      budgets: { isSpent: () => false },
      localLost() {},
    },
  );
}

/** The upstreams called where every call fails. */
function calledBy(plan: FallbackPlan): UpstreamId[] {
  const called: UpstreamId[] = [];
  for (let dispatch = plan.next(); dispatch !== null; dispatch = plan.next()) {
    called.push(dispatch.candidate.upstream);
    plan.failed(dispatch, TIMED_OUT);
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

test('property: every upstream that admits is called once: local first, or last where it is slow and another admits', () => {
  const law = fc.property(situation, (given) => {
    const others = UPSTREAM_IDS.filter(
      (id) => id !== 'local' && given.states[id] === 'well' && !given.zeroSpend,
    );
    const isDeferred = given.isSlow && given.hedge === 'all' && others.length > 0;
    const plan = planFor(given);
    const called = calledBy(plan);
    expect(called).toEqual(isDeferred ? [...others, 'local'] : ['local', ...others]);
    const failed = plan.outcomes(null).filter(({ kind }) => kind === 'failed');
    expect(failed.map(({ upstream }) => upstream)).toEqual(called);
  });
  fc.assert(law, { numRuns: 500 });
});

test('property: a hedged call goes only to upstreams that are well and allowed, in routing order, each once', () => {
  const law = fc.property(situation, (given) => {
    const plan = planFor({ ...given, isSlow: false });
    plan.next();
    const hedged: UpstreamId[] = [];
    for (
      let dispatch = plan.hedge(() => true);
      dispatch !== null;
      dispatch = plan.hedge(() => true)
    ) {
      hedged.push(dispatch.candidate.upstream);
    }
    const well = UPSTREAM_IDS.filter((id) => id !== 'local' && given.states[id] === 'well');
    expect(hedged).toEqual(given.zeroSpend ? [] : well);
  });
  fc.assert(law, { numRuns: 300 });
});

test('an upstream that may not be hedged to is passed over, and called in its turn', () => {
  const states = {
    hosted_a: 'well',
    hosted_b: 'well',
    hosted_c: 'absent',
    ondemand: 'absent',
  } as const;
  const plan = planFor({ states, isSlow: false, zeroSpend: false, hedge: 'own' });
  plan.next();
  expect(plan.ahead()).toEqual(['hosted_a', 'hosted_b']);
  expect(plan.hedge((id) => id === 'hosted_b')?.candidate.upstream).toBe('hosted_b');
  expect(plan.ahead()).toEqual(['hosted_a']);
  expect(plan.next()?.candidate.upstream).toBe('hosted_a');
});

test('a deferred local is still ahead, though not for a hedged call', () => {
  const states = {
    hosted_a: 'well',
    hosted_b: 'absent',
    hosted_c: 'absent',
    ondemand: 'absent',
  } as const;
  const plan = planFor({ states, isSlow: true, zeroSpend: false, hedge: 'all' });
  expect(plan.next()?.candidate.upstream).toBe('hosted_a');
  expect(plan.ahead()).toEqual(['local']);
  expect(plan.hedge(() => true)).toBeNull();
  expect(plan.next()?.candidate.upstream).toBe('local');
  expect(plan.ahead()).toEqual([]);
});

test('after a failure that must not fall back nothing is left, in turn or forced', () => {
  const states = {
    hosted_a: 'well',
    hosted_b: 'out',
    hosted_c: 'absent',
    ondemand: 'absent',
  } as const;
  const plan = planFor({ states, isSlow: false, zeroSpend: false, hedge: 'all' });
  const first = plan.next();
  if (first === null) throw new Error('no call');
  expect(plan.hasFallback()).toBe(true);
  plan.failed(first, { ...TIMED_OUT, fallBack: 'never' });
  expect([plan.next(), plan.hedge(() => true), plan.forceSoonest()]).toEqual([null, null, null]);
  expect([plan.ahead(), plan.hasFallback()]).toEqual([[], false]);
  expect(plan.outcomes(null).map(({ upstream }) => upstream)).toEqual(['local']);
});

import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import { loadConfig } from '../../../main/config/load.ts';
import { createCircuits } from '../../../main/gateway/circuits/circuits.ts';
import { FallbackPlan } from '../../../main/gateway/routing/fallback-plan.ts';
import { createPredictions } from '../../../main/gateway/routing/ttft-predictions.ts';
import { isBadRequest, parseChatRequest } from '../../../main/gateway/upstream/chat-request.ts';
import { classify } from '../../../main/gateway/upstream/failure.ts';
import { endpointOf, remoteUpstreams } from '../../../main/gateway/upstream/upstreams.ts';
import { createManualClock } from '../../support/clock.ts';
import { at } from '../../support/words.ts';

type State = 'absent' | 'well' | 'out';

/** What the walk meets: each remote upstream's state, and whether `local` is known to read too slowly. */
interface Meets {
  readonly states: Readonly<Record<Exclude<UpstreamId, 'local'>, State>>;
  readonly isSlow: boolean;
  readonly zeroSpend: boolean;
  readonly hedge: 'own' | 'all' | 'off';
}

const TIMED_OUT = classify({ kind: 'timeout', wasSilent: true }, 'hosted_a', 0);
const BODY = JSON.stringify({ messages: [{ role: 'user', content: 'x'.repeat(10_000) }] });

function startWalk({ states, isSlow, zeroSpend, hedge }: Meets): FallbackPlan {
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
    limits: () => config.circuit,
    changed() {},
    opened() {},
  });
  const failure = { kind: 'failure', error: 'timeout', silentMs: 0, costMs: 0 } as const;
  for (const [id, state] of set) {
    if (state === 'out') circuits.record(id, { serial: 0 }, failure);
  }
  const predictions = createPredictions(clock);
  const msPerByte = isSlow ? 1 : 0.01;
  for (let n = 1; n <= 20; n += 1) predictions.sample('local', n * 100, n * 100 * msPerByte);
  const endpoint = endpointOf('http://local.test', 'local');
  const target = { provider: null, endpoint, models: null, ownedBy: null, gatewayToken: null };
  return new FallbackPlan(
    {
      call: { request, headers: {}, authorization: null, zeroSpend },
      config,
      remotes: remoteUpstreams(config),
      epoch: 0,
    },
    {
      circuits,
      predictions,
      random,
      inFlightAt: () => 0,
      pickLocal: () => ({ kind: 'target', target }),
      localLost() {},
    },
  );
}

/** Who is asked where each one asked fails. */
function askedBy(walk: FallbackPlan): UpstreamId[] {
  const asked: UpstreamId[] = [];
  for (let step = walk.next(); step !== null; step = walk.next()) {
    asked.push(step.candidate.upstream);
    walk.failed(step, TIMED_OUT);
  }
  return asked;
}

const state = fc.constantFrom<State[]>('absent', 'well', 'out');
const meets: fc.Arbitrary<Meets> = fc.record({
  states: fc.record({ hosted_a: state, hosted_b: state, hosted_c: state, ondemand: state }),
  isSlow: fc.boolean(),
  zeroSpend: fc.boolean(),
  hedge: fc.constantFrom('own', 'all', 'off'),
});

test('property: whoever may be asked is asked once: local first, or last where it is slow and another may be asked', () => {
  const law = fc.property(meets, (met) => {
    const others = UPSTREAM_IDS.filter(
      (id) => id !== 'local' && met.states[id] === 'well' && !met.zeroSpend,
    );
    const isPutOff = met.isSlow && met.hedge === 'all' && others.length > 0;
    const walk = startWalk(met);
    const asked = askedBy(walk);
    expect(asked).toEqual(isPutOff ? [...others, 'local'] : ['local', ...others]);
    const failed = walk.outcomes(null).filter(({ kind }) => kind === 'failed');
    expect(failed.map(({ upstream }) => upstream)).toEqual(asked);
  });
  fc.assert(law, { numRuns: 500 });
});

test('property: a hedge goes only to one that is well and may be asked, in routing order, each once', () => {
  const law = fc.property(meets, (met) => {
    const walk = startWalk({ ...met, isSlow: false });
    walk.next();
    const hedged: UpstreamId[] = [];
    for (let step = walk.hedge(() => true); step !== null; step = walk.hedge(() => true)) {
      hedged.push(step.candidate.upstream);
    }
    const well = UPSTREAM_IDS.filter((id) => id !== 'local' && met.states[id] === 'well');
    expect(hedged).toEqual(met.zeroSpend ? [] : well);
  });
  fc.assert(law, { numRuns: 300 });
});

test('one who may not be hedged to is passed by, and asked in its turn', () => {
  const states = {
    hosted_a: 'well',
    hosted_b: 'well',
    hosted_c: 'absent',
    ondemand: 'absent',
  } as const;
  const walk = startWalk({ states, isSlow: false, zeroSpend: false, hedge: 'own' });
  walk.next();
  expect(walk.hasMore((id) => id === 'hosted_c')).toBe(false);
  expect(walk.hasMore((id) => id === 'hosted_b')).toBe(true);
  expect(walk.hedge((id) => id === 'hosted_b')?.candidate.upstream).toBe('hosted_b');
  expect(walk.hasMore((id) => id === 'hosted_b')).toBe(false);
  expect(walk.next()?.candidate.upstream).toBe('hosted_a');
});

test('a local that was put off is still ahead, though not as a hedge', () => {
  const states = {
    hosted_a: 'well',
    hosted_b: 'absent',
    hosted_c: 'absent',
    ondemand: 'absent',
  } as const;
  const walk = startWalk({ states, isSlow: true, zeroSpend: false, hedge: 'all' });
  expect(walk.next()?.candidate.upstream).toBe('hosted_a');
  expect(walk.hasMore(() => true)).toBe(true);
  expect(walk.hasMore((id) => id !== 'local')).toBe(false);
  expect(walk.hedge(() => true)).toBeNull();
  expect(walk.next()?.candidate.upstream).toBe('local');
  expect(walk.hasMore(() => true)).toBe(false);
});

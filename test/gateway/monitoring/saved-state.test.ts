import { expect, test } from 'vitest';
import { loadConfig } from '../../../main/config/load.ts';
import type { Config } from '../../../main/config/schema.ts';
import { createCircuits } from '../../../main/gateway/circuits/circuits.ts';
import {
  createLatencies,
  createStats,
  createOutcomes,
} from '../../../main/gateway/monitoring/counters.ts';
import {
  type SavedParts,
  restoreState,
  stateToSave,
} from '../../../main/gateway/monitoring/saved-state.ts';
import { createPredictions } from '../../../main/gateway/routing/predictions.ts';
import { createWarmup } from '../../../main/gateway/routing/warmup.ts';
import type { HttpClient } from '../../../main/platform/http/types.ts';
import { createManualClock } from '../../support/clock.ts';
import { firstTokens } from '../../support/machine.ts';
import { UNWATCHED } from '../../support/circuits.ts';

function configOf(engineUrl: string): Config {
  const loaded = loadConfig({ INGLENOOK_LOCAL_ENGINE_URL: engineUrl }, {});
  if (loaded.kind === 'refused') throw new Error(loaded.problems.join('\n'));
  return loaded.config;
}

const NO_HTTP: HttpClient = {
  send() {
    throw new Error('nothing is sent');
  },
  dropIdle() {},
  close() {},
};

const CONFIG = configOf('http://127.0.0.1:8000');
const PROVIDER = `prv_${'0'.repeat(32)}`;

function nothing(): SavedParts {
  const clock = createManualClock();
  const circuits = createCircuits({
    clock,
    random: () => 0.5,
    config: () => CONFIG,
    ...UNWATCHED,
    opened() {},
  });
  return {
    stats: createStats(),
    outcomes: createOutcomes(),
    circuits,
    latencies: createLatencies(clock),
    predictions: createPredictions(clock),
    warmup: createWarmup({ http: NO_HTTP, clock }, () => {}),
  };
}

/** What a run keeps that counted three hedges, two handovers, a fallback, and knows two engines' rates. */
function kept(): Record<string, unknown> {
  const what = nothing();
  for (let n = 0; n < 5; n += 1) what.stats.accepted();
  for (let n = 0; n < 3; n += 1) what.stats.hedged();
  for (let n = 0; n < 2; n += 1) what.stats.handedOver();
  what.stats.fellBack();
  for (const tokens of [70, 30]) what.stats.ended(tokens === 70, tokens);
  for (const id of ['local', PROVIDER]) {
    for (const { promptBytes, ttftMs } of firstTokens(MACHINE, 30, 1)) {
      what.predictions.sample(id, promptBytes, ttftMs);
    }
  }
  return JSON.parse(JSON.stringify(stateToSave(what, CONFIG))) as Record<string, unknown>;
}

const MACHINE = { overheadMs: 100, msPerByte: 0.05, noiseMs: 5 };

function recalled(from: unknown, config: Config = CONFIG): SavedParts {
  const what = nothing();
  restoreState(from, what, config);
  return what;
}

test('all lifetime counts outlast a restart', () => {
  expect(recalled(kept()).stats.view()).toMatchObject({
    totalRequests: 5,
    fallbackCount: 1,
    hedges: 3,
    handovers: 2,
    answers: 1,
    tokens: 100,
  });
});

test.each([undefined, null, -1, 0.5, '3'])(
  'lifetime counts that a saved file has as %j, like an older one, begin at 0',
  (count) => {
    const later = { hedges: count, handovers: count, answers: count, tokens: count };
    const { stats } = recalled({ ...kept(), ...later });
    const begun = { hedges: 0, handovers: 0, answers: 0, tokens: 0 };
    expect(stats.view()).toMatchObject({ totalRequests: 5, fallbackCount: 1, ...begun });
  },
);

test('predictions outlast a restart, except of an engine at another address', () => {
  const same = recalled(kept()).predictions;
  for (const id of ['local', PROVIDER]) expect(same.at(id, 1000)).not.toBeNull();
  const { predictions } = recalled(kept(), configOf('http://127.0.0.1:8001'));
  expect(predictions.at('local', 1000)).toBeNull();
  expect(predictions.at(PROVIDER, 1000)).toEqual(same.at(PROVIDER, 1000));
});

test.each([null, [], 7, { ...kept(), version: 2 }, { ...kept(), identities: null }])(
  'a saved file that cannot be read as one brings back no prediction',
  (file) => {
    expect(recalled(file).predictions.at(PROVIDER, 1000)).toBeNull();
  },
);

test.each([
  ['the last five durations', [90_000, 80_000, 1, 2, 3, 4], [90_000, 80_000, 1, 2, 3]],
  ['only durations', [-1, 'x', null, 7], [7]],
  ['nothing of a file without them', undefined, []],
])('a restart keeps, of the times of cold starts, %s', (_says, coldStartsMs, expected) => {
  expect(recalled({ ...kept(), coldStartsMs }).warmup.save()).toEqual(expected);
});

import { expect, test } from 'vitest';
import { loadConfig } from '../../../main/config/load.ts';
import type { Config } from '../../../main/config/schema.ts';
import { createMemory } from '../../../main/gateway/memory/memory.ts';
import { createStats, createOutcomes } from '../../../main/gateway/monitoring/counters.ts';
import {
  type SavedParts,
  restoreState,
  stateToSave,
} from '../../../main/gateway/monitoring/saved-state.ts';
import { createWarmup } from '../../../main/gateway/routing/warmup.ts';
import type { HttpClient } from '../../../main/platform/http/types.ts';
import { createManualClock } from '../../support/clock.ts';

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

function nothing(): SavedParts {
  const clock = createManualClock();
  return {
    stats: createStats(),
    outcomes: createOutcomes(),
    memory: createMemory(clock),
    warmup: createWarmup({ http: NO_HTTP, clock }, () => {}),
  };
}

/** What a run keeps that counted three hedges, two handovers and a fallback. */
function kept(): Record<string, unknown> {
  const what = nothing();
  for (let n = 0; n < 5; n += 1) what.stats.accepted();
  for (let n = 0; n < 3; n += 1) what.stats.hedged();
  for (let n = 0; n < 2; n += 1) what.stats.handedOver();
  what.stats.fellBack();
  for (const tokens of [70, 30]) what.stats.ended(tokens === 70, tokens);
  return JSON.parse(JSON.stringify(stateToSave(what, CONFIG))) as Record<string, unknown>;
}

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

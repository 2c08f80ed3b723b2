import { expect, test } from 'vitest';
import { CHECK_NAMES, CHECKS, type CheckName } from '#shared/checks.ts';
import {
  type Finding,
  findingOf,
  type ProvedAddress,
  type CheckResult,
} from '../../../main/registry/verification/judgements.ts';
import { type RunOutcome, verdictOf } from '../../../main/registry/verification/verdict.ts';

const {
  health: HEALTH,
  engineHealth: ENGINE,
  gpuCount: GPU,
  inference: INFERENCE,
  latency: LATENCY,
  model: MODEL,
} = CHECKS;
const AGENT_URL: ProvedAddress = {
  source: 'agent_url',
  latencyMs: 90,
  address: 'http://10.0.0.1:3001',
};
const NEAR: ProvedAddress = { source: 'hostname', latencyMs: 1, address: 'http://10.0.0.2:47901' };
const FAR: ProvedAddress = { source: 'tailnet', latencyMs: 50, address: 'http://10.0.0.3:47901' };

const finding = (name: CheckName, result: CheckResult, reached?: ProvedAddress): Finding =>
  findingOf(name, { result, error: result }, reached === undefined ? {} : { reached });

type Otherwise = Partial<Record<CheckName, CheckResult>>;

/** Everything passes at the places given, but for what is said otherwise. */
function findings(places: readonly ProvedAddress[], otherwise: Otherwise = {}): readonly Finding[] {
  return CHECK_NAMES.flatMap((name) =>
    name === ENGINE || name === GPU
      ? [finding(name, otherwise[name] ?? 'passed')]
      : places.map((place) => finding(name, otherwise[name] ?? 'passed', place)),
  );
}

test.each([
  ['the agent URL, however far', [FAR, AGENT_URL, NEAR], AGENT_URL],
  ['the agent URL, whatever the order', [AGENT_URL, NEAR], AGENT_URL],
  ['the nearest where there is no agent URL', [FAR, NEAR], NEAR],
  ['the only one', [FAR], FAR],
])('the verified address is %s', (_says, places, { address }) => {
  expect(verdictOf(findings(places), true)).toEqual({ kind: 'verified', address });
});

const STRANGER = { [HEALTH]: 'identity_mismatch' } as const;
const LOADS = { [ENGINE]: 'not_ready' } as const;
const OTHER_MODEL = { [MODEL]: 'model_mismatch' } as const;
const NO_GPU = { [GPU]: 'failed' } as const;
const HANGS = { [INFERENCE]: 'timeout', [LATENCY]: 'timeout' } as const;
const NO_ANSWER = { [INFERENCE]: 'missing', [LATENCY]: 'missing' } as const;
const LATER = false;

test.each<[says: string, kind: RunOutcome['kind'], otherwise: Otherwise, isFirst?: boolean]>([
  ['a stranger at the address', 'identity_mismatch', { ...STRANGER, [MODEL]: 'missing' }],
  ['a stranger while it loads', 'identity_mismatch', { ...STRANGER, ...LOADS }],
  ['another model', 'model_mismatch', OTHER_MODEL],
  ['another model and no GPU', 'model_mismatch', { ...OTHER_MODEL, ...NO_GPU }],
  [
    'an engine that loads',
    'not_ready',
    { ...LOADS, [INFERENCE]: 'not_ready', [LATENCY]: 'missing' },
    LATER,
  ],
  ['a list without the model while it loads', 'not_ready', { ...LOADS, ...OTHER_MODEL }, LATER],
  [
    'a health that loads',
    'not_ready',
    { ...NO_ANSWER, [HEALTH]: 'not_ready', [MODEL]: 'missing' },
    LATER,
  ],
  ['an engine that loads without a GPU', 'failed', { ...LOADS, ...NO_GPU }],
  ['a full machine', 'not_ready', { [INFERENCE]: 'not_ready', [LATENCY]: 'missing' }, LATER],
  ['a first inference that hangs', 'not_ready', HANGS],
  ['a later inference that hangs', 'failed', HANGS, LATER],
  [
    'a first inference that hangs while the engine is down',
    'failed',
    { ...HANGS, [ENGINE]: 'failed' },
  ],
  ['no inference that ran', 'failed', { [INFERENCE]: 'missing' }],
  ['no GPU', 'failed', NO_GPU],
])('a run with %s is %s', (_says, kind, otherwise, isFirst = true) => {
  expect(verdictOf(findings([AGENT_URL], otherwise), isFirst)).toMatchObject({ kind });
});

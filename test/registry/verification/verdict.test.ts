import { expect, test } from 'vitest';
import { CHECK_NAMES, type CheckName } from '#shared/checks.ts';
import {
  type Finding,
  findingOf,
  type ProvedAddress,
  type CheckResult,
} from '../../../main/registry/verification/judgements.ts';
import { type RunOutcome, verdictOf } from '../../../main/registry/verification/verdict.ts';

const [HEALTH, ENGINE, GPU, INFERENCE, LATENCY, MODEL] = CHECK_NAMES;
const AGENT_URL: ProvedAddress = {
  source: 'agent_url',
  latencyMs: 90,
  address: 'http://10.0.0.1:3001',
};
const NEAR: ProvedAddress = { source: 'hostname', latencyMs: 1, address: 'http://10.0.0.2:47901' };
const FAR: ProvedAddress = { source: 'tailnet', latencyMs: 50, address: 'http://10.0.0.3:47901' };

const finding = (name: CheckName, result: CheckResult, reached?: ProvedAddress): Finding =>
  findingOf(name, { result, error: result }, reached === undefined ? {} : { reached });

/** Everything passes at the places given, but for what is said otherwise. */
function findings(
  places: readonly ProvedAddress[],
  otherwise: Partial<Record<CheckName, CheckResult>> = {},
): readonly Finding[] {
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

test.each<
  [
    says: string,
    otherwise: Partial<Record<CheckName, CheckResult>>,
    first: boolean,
    kind: RunOutcome['kind'],
  ]
>([
  [
    'a stranger at the address',
    { [HEALTH]: 'identity_mismatch', [MODEL]: 'missing' },
    true,
    'identity_mismatch',
  ],
  [
    'a stranger while it loads',
    { [HEALTH]: 'identity_mismatch', [ENGINE]: 'loading' },
    true,
    'identity_mismatch',
  ],
  ['another model', { [MODEL]: 'model_mismatch' }, true, 'model_mismatch'],
  [
    'another model and no GPU',
    { [MODEL]: 'model_mismatch', [GPU]: 'failed' },
    true,
    'model_mismatch',
  ],
  [
    'an engine that loads',
    { [ENGINE]: 'loading', [INFERENCE]: 'loading', [LATENCY]: 'missing' },
    false,
    'loading',
  ],
  [
    'a list without the model while it loads',
    { [ENGINE]: 'loading', [MODEL]: 'model_mismatch' },
    false,
    'loading',
  ],
  [
    'a health that loads',
    { [HEALTH]: 'loading', [INFERENCE]: 'missing', [LATENCY]: 'missing', [MODEL]: 'missing' },
    false,
    'loading',
  ],
  ['an engine that loads without a GPU', { [ENGINE]: 'loading', [GPU]: 'failed' }, true, 'failed'],
  ['a full machine', { [INFERENCE]: 'busy', [LATENCY]: 'missing' }, false, 'busy'],
  [
    'a first inference that hangs',
    { [INFERENCE]: 'timeout', [LATENCY]: 'timeout' },
    true,
    'loading',
  ],
  [
    'a later inference that hangs',
    { [INFERENCE]: 'timeout', [LATENCY]: 'timeout' },
    false,
    'failed',
  ],
  [
    'a first inference that hangs while the engine is down',
    { [ENGINE]: 'failed', [INFERENCE]: 'timeout', [LATENCY]: 'timeout' },
    true,
    'failed',
  ],
  ['no inference that ran', { [INFERENCE]: 'missing' }, true, 'failed'],
  ['no GPU', { [GPU]: 'failed' }, true, 'failed'],
])('a run with %s is %s', (_says, otherwise, first, kind) => {
  expect(verdictOf(findings([AGENT_URL], otherwise), first)).toMatchObject({ kind });
});

import { CHECK_NAMES, type Check, type CheckName } from '#shared/provider.ts';
import type { CandidateSource } from './candidates.ts';

/** What a check came to, in terms that decide what becomes of the provider. */
export type Result =
  | 'passed'
  | 'failed'
  /** It did not run. */
  | 'missing'
  /** Somebody else answers at this address. */
  | 'identity_mismatch'
  /** The engine answers, and does not have the model that the machine reports. */
  | 'model_mismatch'
  /** The engine says that it is loading a model. */
  | 'loading'
  /** The agent is full, paused or draining. */
  | 'busy'
  /** The test inference had no answer in its time. */
  | 'timeout';

/** An address that was proved to be the provider's. */
export interface Reached {
  readonly source: CandidateSource;
  readonly latencyMs: number;
  /** Where routing would reach it, as in `http://192.168.1.20:3001`. */
  readonly address: string;
}

/** One entry of a run: what will be shown, and what it decides. */
export interface Finding {
  readonly check: Check & { readonly name: CheckName };
  readonly result: Result;
  /** The address that it speaks of; null where that is none or not proved. */
  readonly reached: Reached | null;
  /** Taken over from an earlier run. */
  readonly carried: boolean;
  /** The `owned_by` of the model that was looked for. */
  readonly ownedBy?: string;
}

/** What an answer was judged to be; `error` is for people and empty where all is well. */
export interface Judgement {
  readonly result: Result;
  readonly error: string;
}

/** What a finding speaks of beside its judgement. */
export interface Circumstances {
  readonly latencyMs?: number;
  readonly detail?: string;
  readonly reached?: Reached;
  readonly ownedBy?: string;
}

/** Makes the entry of a judgement. */
export function findingOf(
  name: CheckName,
  { result, error }: Judgement,
  { latencyMs, detail, reached, ownedBy }: Circumstances = {},
): Finding {
  const passed = result === 'passed';
  const check = {
    name,
    passed,
    ...(latencyMs === undefined ? {} : { latencyMs: Math.round(latencyMs) }),
    ...(passed ? {} : { error }),
    ...(detail === undefined ? {} : { detail }),
  };
  const owner = ownedBy === undefined ? {} : { ownedBy };
  return { check, result, reached: reached ?? null, carried: false, ...owner };
}

/** Findings in the order of the checks' names; a check that did not run appears all the same. */
export function completed(findings: readonly Finding[]): readonly Finding[] {
  return CHECK_NAMES.flatMap((name) => {
    const own = findings.filter(({ check }) => check.name === name);
    return own.length > 0 ? own : [findingOf(name, MISSING)];
  });
}

/** A check that did not run (interface 2.3). */
export const MISSING: Judgement = { result: 'missing', error: 'check missing' };

export const PASSED: Judgement = { result: 'passed', error: '' };

/** A check that failed for the reason given. */
export function failure(error: string): Judgement {
  return { result: 'failed', error };
}

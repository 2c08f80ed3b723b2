import type { StoredVerification } from '../types.ts';
import type { Finding } from './findings.ts';
import type { Outcome } from './verdict.ts';

/** A verified machine may fail so many runs in a row before it loses its place (design 9). */
const FAILED_RUNS_ALLOWED = 2;

/** What is to be kept of a provider after a run. */
export function settled(
  before: StoredVerification,
  outcome: Outcome,
  { findings, wallMs }: { readonly findings: readonly Finding[]; readonly wallMs: number },
): StoredVerification {
  const checks = findings.map(({ check }) => check);
  const lastInferenceAt = inferenceEnding(findings) === 'passed' ? wallMs : before.lastInferenceAt;
  const shown = { checks, lastCheckAt: wallMs, lastInferenceAt };
  const keepsPlace = { ...before, ...shown };
  switch (outcome.kind) {
    case 'verified':
      return {
        ...shown,
        ...ownerAmong(findings, before),
        state: 'verified',
        failedRuns: 0,
        address: outcome.address,
      };
    case 'loading':
    case 'busy':
      return before.state === 'verified'
        ? { ...keepsPlace, failedRuns: before.failedRuns }
        : { ...shown, state: 'pending', failedRuns: 0, address: null };
    case 'failed': {
      const failedRuns = before.failedRuns + 1;
      return before.state === 'verified' && failedRuns <= FAILED_RUNS_ALLOWED
        ? { ...keepsPlace, failedRuns }
        : { ...shown, state: 'failed', failedRuns, address: null };
    }
    default:
      return { ...shown, state: 'failed', failedRuns: before.failedRuns + 1, address: null };
  }
}

/** As the lists of this run say; an engine that does not say stays what it was. */
function ownerAmong(
  findings: readonly Finding[],
  { ownedBy: before }: StoredVerification,
): Pick<StoredVerification, 'ownedBy'> {
  const passed = findings.filter(({ result }) => result === 'passed');
  const ownedBy = passed.find((finding) => finding.ownedBy !== undefined)?.ownedBy ?? before;
  return ownedBy === undefined ? {} : { ownedBy };
}

/** What came of the test inferences of a run; `none` where none was tried. */
export type InferenceEnding = 'passed' | 'failed' | 'none';

/** What the test inferences of this very run came to. */
export function inferenceEnding(findings: readonly Finding[]): InferenceEnding {
  const tried = findings.filter(
    ({ check, result, carried }) =>
      check.name === 'test inference returns choices' && result !== 'missing' && !carried,
  );
  if (tried.length === 0) return 'none';
  return tried.some(({ result }) => result === 'passed') ? 'passed' : 'failed';
}

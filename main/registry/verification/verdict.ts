import { CHECK_NAMES, type CheckName, CHECKS } from '#shared/checks.ts';
import type { StoredVerification } from '../store/store.ts';
import { type Finding, type ProvedAddress, type CheckResult, rankOf } from './judgements.ts';

export type RunOutcome =
  | { readonly kind: 'verified'; readonly address: string }
  /** All checks passed except the test inference, which was left out to spare the GPU. */
  | { readonly kind: 'untested'; readonly address: string }
  /** A mismatch: another machine has its address, or it serves something other than it reports. */
  | { readonly kind: 'failed' | 'identity_mismatch' | 'model_mismatch' }
  /** Neither a failure nor a success. */
  | { readonly kind: 'not_ready' };

/** The checks of which at least one entry passed. */
function passedNames(findings: readonly Finding[]): ReadonlySet<CheckName> {
  return new Set(findings.filter(({ check }) => check.passed).map(({ check }) => check.name));
}

/** `firstInference`: no test inference was made before, so a timeout may mean that the model was being loaded. */
export function verdictOf(findings: readonly Finding[], firstInference: boolean): RunOutcome {
  const passed = passedNames(findings);
  const failed = CHECK_NAMES.filter((name) => !passed.has(name));
  const has = (result: CheckResult) =>
    findings.some((one) => one.result === result && failed.includes(one.check.name));
  const areAll = (results: ReadonlySet<CheckResult>) =>
    failed.every((name) =>
      findings.some(({ check, result }) => check.name === name && results.has(result)),
    );
  const isSpared = failed.length > 0 && areAll(SPARED);
  const address = isSpared ? bestOf(passing(CHECKS.model, findings)) : addressOf(findings);
  if (address !== null && isSpared) return { kind: 'untested', address };
  if (address !== null && failed.length === 0) return { kind: 'verified', address };
  if (has('identity_mismatch')) return { kind: 'identity_mismatch' };
  const isNotReady = has('not_ready') || (firstInference && has('timeout'));
  if (isNotReady && areAll(EXPLAINED)) return { kind: 'not_ready' };
  return { kind: has('model_mismatch') ? 'model_mismatch' : 'failed' };
}

const SPARED: ReadonlySet<CheckResult> = new Set(['spared']);

/** Results that a loading engine or a busy machine explains. */
const EXPLAINED: ReadonlySet<CheckResult> = new Set([
  'not_ready',
  'timeout',
  'missing',
  'spared',
  // A model that is not loaded yet may be missing from the list.
  'model_mismatch',
]);

/** The address for routing. */
function addressOf(findings: readonly Finding[]): string | null {
  const answering = passing(CHECKS.latency, findings).filter(
    isAmong(passing(CHECKS.inference, findings)),
  );
  const listing = answering.filter(isAmong(passing(CHECKS.model, findings)));
  // All are proved to be the same machine, so if none passes both, one that answers is enough.
  return bestOf(listing.length > 0 ? listing : answering);
}

function passing(name: CheckName, findings: readonly Finding[]): readonly ProvedAddress[] {
  return findings.flatMap(({ check, reached }) =>
    check.name === name && check.passed && reached !== null ? [reached] : [],
  );
}

function bestOf(all: readonly ProvedAddress[]): string | null {
  return all.toSorted((a, b) => rankOf(a) - rankOf(b))[0]?.address ?? null;
}

const isAmong =
  (others: readonly ProvedAddress[]) =>
  ({ source }: ProvedAddress) =>
    others.some((other) => other.source === source);

/** Consecutive failed runs after which a verified machine still keeps its place. */
const FAILED_RUNS_ALLOWED = 2;

/** The verification to store after a run. */
export function settled(
  before: StoredVerification,
  outcome: RunOutcome,
  { findings, wallMs }: { readonly findings: readonly Finding[]; readonly wallMs: number },
): StoredVerification {
  const checks = findings.map(({ check }) => check);
  const lastInferenceAt = inferenceEnding(findings) === 'passed' ? wallMs : before.lastInferenceAt;
  const shown = { checks, lastCheckAt: wallMs, lastInferenceAt };
  switch (outcome.kind) {
    case 'verified':
      return {
        ...shown,
        ...ownerAmong(findings, before),
        state: 'verified',
        failedRuns: 0,
        address: outcome.address,
      };
    case 'untested':
      // A machine is not used before it has answered a test.
      return { ...shown, ...pendingAt(before.address === null ? null : outcome.address) };
    case 'not_ready':
      return before.state === 'verified'
        ? { ...before, ...shown }
        : { ...shown, ...pendingAt(before.address) };
    default: {
      const failedRuns = before.failedRuns + 1;
      const mayKeepPlace = outcome.kind === 'failed' && failedRuns <= FAILED_RUNS_ALLOWED;
      return before.state === 'verified' && mayKeepPlace
        ? { ...before, ...shown, failedRuns }
        : { ...shown, state: 'failed', failedRuns, address: null };
    }
  }
}

const pendingAt = (address: string | null) =>
  ({ state: 'pending', failedRuns: 0, address }) as const;

/** The owner in the model lists of this run; the earlier one if the engine does not report it. */
function ownerAmong(
  findings: readonly Finding[],
  { ownedBy: before }: StoredVerification,
): Pick<StoredVerification, 'ownedBy'> {
  const passed = findings.filter(({ result }) => result === 'passed');
  const ownedBy = passed.find((finding) => finding.ownedBy !== undefined)?.ownedBy ?? before;
  return ownedBy === undefined ? {} : { ownedBy };
}

/** Results of test inferences that this run did not make. */
const NOT_TRIED: ReadonlySet<CheckResult> = new Set(['missing', 'spared', 'carried']);

/** `none` if no test inference was made. */
type InferenceEnding = 'passed' | 'failed' | 'none';

export function inferenceEnding(findings: readonly Finding[]): InferenceEnding {
  const tried = findings.filter(
    ({ check, result }) => check.name === CHECKS.inference && !NOT_TRIED.has(result),
  );
  if (tried.length === 0) return 'none';
  return tried.some(({ result }) => result === 'passed') ? 'passed' : 'failed';
}

/** What the schedule remembers of a finished run. */
export interface RunEnding {
  /** The machine is loading or busy. */
  readonly deferred: boolean;
  /** The result of its test inferences. */
  readonly inference: InferenceEnding;
  /** A test inference was due but left out, because no model was loaded. */
  readonly leftOut: boolean;
  /** How many material changes the provider had before the run. */
  readonly materialChanges: number;
}

import { CHECK_NAMES, type CheckName, CHECKS } from '#shared/provider.ts';
import type { StoredVerification } from '../store/store.ts';
import type { Finding, Reached, Result } from './judgements.ts';

export type Outcome =
  | { readonly kind: 'verified'; readonly address: string }
  | { readonly kind: 'failed' }
  /** Another machine holds its address, or it serves something else than it reports. */
  | { readonly kind: 'identity_mismatch' }
  | { readonly kind: 'model_mismatch' }
  /** Not ready yet: neither a failure nor a success. */
  | { readonly kind: 'loading' }
  | { readonly kind: 'busy' };

/** The checks of which at least one entry passed. */
export function passedNames(findings: readonly Finding[]): ReadonlySet<CheckName> {
  return new Set(findings.filter(({ check }) => check.passed).map(({ check }) => check.name));
}

/**
 * `firstInference`: no test inference was made before, so that a time-out may mean that the model was being
 * loaded.
 */
export function verdictOf(findings: readonly Finding[], firstInference: boolean): Outcome {
  const passed = passedNames(findings);
  const failed = CHECK_NAMES.filter((name) => !passed.has(name));
  const address = addressOf(findings);
  if (failed.length === 0 && address !== null) return { kind: 'verified', address };
  const has = (result: Result) =>
    findings.some((one) => one.result === result && failed.includes(one.check.name));
  if (has('identity_mismatch')) return { kind: 'identity_mismatch' };
  for (const kind of ['loading', 'busy'] as const) {
    const isCause = has(kind) || (kind === 'loading' && firstInference && has('timeout'));
    if (isCause && failed.every((name) => isExplained(name, findings))) return { kind };
  }
  return { kind: has('model_mismatch') ? 'model_mismatch' : 'failed' };
}

/** Results that a loading engine or a full machine explains. */
const EXPLAINED: ReadonlySet<Result> = new Set([
  'loading',
  'busy',
  'timeout',
  'missing',
  // A model that is not loaded yet may be missing from the list.
  'model_mismatch',
]);

function isExplained(name: CheckName, findings: readonly Finding[]): boolean {
  return findings.some(({ check, result }) => check.name === name && EXPLAINED.has(result));
}

/** The address for routing: the agent URL where it passes, else the one with the lowest latency. */
function addressOf(findings: readonly Finding[]): string | null {
  const passing = (name: CheckName) =>
    findings.flatMap(({ check, reached }) =>
      check.name === name && check.passed && reached !== null ? [reached] : [],
    );
  const answering = passing(CHECKS.latency).filter(isAmong(passing(CHECKS.inference)));
  const listing = answering.filter(isAmong(passing(CHECKS.model)));
  // All are proved to be the same machine, so one that answers will do where none does both.
  const [first, ...others] = listing.length > 0 ? listing : answering;
  if (first === undefined) return null;
  return others.reduce((best, one) => (isBetter(one, best) ? one : best), first).address;
}

const isAmong =
  (others: readonly Reached[]) =>
  ({ source }: Reached) =>
    others.some((other) => other.source === source);

function isBetter(a: Reached, b: Reached): boolean {
  if (a.source === 'agent_url' || b.source === 'agent_url') return a.source === 'agent_url';
  return a.latencyMs < b.latencyMs;
}

/** Failed runs in a row after which a verified machine still keeps its place. */
const FAILED_RUNS_ALLOWED = 2;

/** The verification to store after a run. */
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

/** From the model lists of this run; kept where the engine does not report it. */
function ownerAmong(
  findings: readonly Finding[],
  { ownedBy: before }: StoredVerification,
): Pick<StoredVerification, 'ownedBy'> {
  const passed = findings.filter(({ result }) => result === 'passed');
  const ownedBy = passed.find((finding) => finding.ownedBy !== undefined)?.ownedBy ?? before;
  return ownedBy === undefined ? {} : { ownedBy };
}

/** `none` where no test inference was made. */
type InferenceEnding = 'passed' | 'failed' | 'none';

/** Taken-over results do not count. */
export function inferenceEnding(findings: readonly Finding[]): InferenceEnding {
  const tried = findings.filter(
    ({ check, result, carried }) =>
      check.name === CHECKS.inference && result !== 'missing' && !carried,
  );
  if (tried.length === 0) return 'none';
  return tried.some(({ result }) => result === 'passed') ? 'passed' : 'failed';
}

/** What the schedule keeps of a finished run. */
export interface RunEnding {
  /** The machine is loading or busy. */
  readonly deferred: boolean;
  /** What came of its test inferences. */
  readonly inference: InferenceEnding;
  /** One was due and left out, for no model was loaded. */
  readonly leftOut: boolean;
}

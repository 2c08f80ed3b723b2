import { CHECK_MISSING, CHECKS } from '#shared/checks.ts';
import type { Check, Provider } from '#shared/provider.ts';
import type { StatusReport } from '#shared/status.ts';
import { checkGroups, type CheckGroup } from './provider-checks.ts';

export type ProviderCircuit = StatusReport['stats']['providerCircuits'][string];

/** A machine's state for the page, in order of precedence: causes that keep it from serving come first. */
export type Standing =
  /** Its agent signed off. */
  | { readonly kind: 'stopped'; readonly since: number }
  /** Its heartbeats stopped without a goodbye. */
  | { readonly kind: 'silent'; readonly since: number }
  | { readonly kind: 'paused' }
  /** Its heartbeats arrive, but its agent cannot be reached at any address. */
  | { readonly kind: 'unreachable'; readonly entries: readonly Check[] }
  | { readonly kind: 'engine-down'; readonly status: string; readonly code: number }
  | { readonly kind: 'check-failed'; readonly failed: readonly CheckGroup[] }
  | { readonly kind: 'loading' }
  | { readonly kind: 'draining' }
  | { readonly kind: 'verifying' }
  | { readonly kind: 'pending'; readonly reason: string }
  /** Verified, but skipped because requests to it kept failing. */
  | { readonly kind: 'resting'; readonly fails: number; readonly lastError: string | null }
  /** Still verified, but its last run failed. */
  | { readonly kind: 'wavering'; readonly failed: readonly CheckGroup[] }
  /** Local calls its engine directly, whatever the agent's verification says. */
  | { readonly kind: 'direct' }
  | { readonly kind: 'serving' }
  | { readonly kind: 'idle' };

export type StandingKind = Standing['kind'];

/** A machine with its standing and its owner's note. */
export interface ProviderEntry {
  readonly provider: Provider;
  readonly standing: Standing;
  /** The owner's name for it, otherwise its host name. */
  readonly name: string;
  readonly note: string;
}

const UNVERIFIED: ReadonlySet<StandingKind> = new Set([
  'check-failed',
  'wavering',
  'verifying',
  'pending',
]);

/** A machine's standing; `circuit` is its circuit in routing, `isDirect` whether Local calls its engine directly. */
export function standingOf(
  provider: Provider,
  circuit: ProviderCircuit | undefined,
  isDirect = false,
): Standing {
  const standing = ownWord(provider) ?? verdict(provider) ?? inUse(provider, circuit);
  return isDirect && UNVERIFIED.has(standing.kind) ? { kind: 'direct' } : standing;
}

/** True while a machine that failed verification is being verified again. */
export function isRechecked({ verification }: Provider, { kind }: Standing): boolean {
  return verification.status === 'verifying' && kind !== 'verifying' && kind !== 'direct';
}

function ownWord({ status, raw, last_heartbeat }: Provider): Standing | null {
  const since = Date.parse(last_heartbeat);
  if (status === 'offline' && raw.status === 'offline') return { kind: 'stopped', since };
  if (status === 'offline' || status === 'stale') return { kind: 'silent', since };
  return status === 'paused' ? { kind: 'paused' } : null;
}

/** The standing by the last verification, which a run in progress does not hide. */
function verdict({ verification, status, engine_health }: Provider): Standing | null {
  const failed = failedGroups(verification.checks);
  const out = verification.status === 'failed' || verification.status === 'verifying';
  const health = failed.find(({ name }) => name === CHECKS.health);
  if (out && health) {
    return {
      kind: 'unreachable',
      entries: health.entries.filter(({ error }) => error !== CHECK_MISSING),
    };
  }
  if (engine_health.status === 'loading') return { kind: 'loading' };
  if (status === 'degraded' || engine_health.status !== 'ok') {
    return { kind: 'engine-down', ...engine_health };
  }
  if (verification.status === 'failed' || (out && failed.length > 0)) {
    return { kind: 'check-failed', failed };
  }
  return null;
}

function inUse(provider: Provider, circuit: ProviderCircuit | undefined): Standing {
  const { verification, status } = provider;
  if (status === 'draining') return { kind: 'draining' };
  if (verification.status === 'verifying') return { kind: 'verifying' };
  if (verification.status === 'pending') {
    return { kind: 'pending', reason: verification.failure_reason };
  }
  if (circuit?.open) {
    return { kind: 'resting', fails: circuit.consecutiveFails, lastError: circuit.lastError };
  }
  const failed = failedGroups(verification.checks);
  if (failed.length > 0) return { kind: 'wavering', failed };
  return { kind: status === 'idle' ? 'idle' : 'serving' };
}

function failedGroups(checks: readonly Check[]): readonly CheckGroup[] {
  return checkGroups(checks).filter(({ outcome }) => outcome === 'failed');
}

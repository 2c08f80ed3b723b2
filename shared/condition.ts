import { CHECKS } from './checks.ts';
import type { UpstreamId } from './ids.ts';
import type { LiveSnapshot, Sighting } from './live.ts';
import type { StatusReport, UpstreamReport, WarmupState } from './status.ts';

/** What a request would meet at an upstream in its turn. */
export type Condition =
  | { readonly kind: 'missing'; readonly wants: 'address' | 'key' | 'engine' }
  | { readonly kind: 'no-provider'; readonly cause: NoProviderCause }
  | { readonly kind: 'zero-spend' }
  | { readonly kind: 'skipped'; readonly reason: string; readonly remainingMs: number }
  | {
      readonly kind: 'cooling';
      readonly cause: 'failures' | 'slow';
      readonly remainingMs: number;
      /** Remaining share of the cool-down, 0 to 1. */
      readonly share: number;
    }
  /** The cool-down is over: the next request is the probe. */
  | { readonly kind: 'probe' }
  /** Still called, but its last answers were failures. */
  | { readonly kind: 'failing'; readonly fails: number; readonly limit: number }
  | {
      readonly kind: 'on-demand';
      readonly warmup: WarmupState;
      /** Milliseconds since the current cold start began; null if there is none. */
      readonly startMs: number | null;
      /** Usual duration of a cold start; null if unknown. */
      readonly usualMs: number | null;
    }
  /** A check found it down; requests still try it. */
  | { readonly kind: 'down'; readonly reason: string }
  /** Not yet called by a request or a check. */
  | { readonly kind: 'untested' }
  | {
      readonly kind: 'closed';
      /** Only checks have shown that it answers. */
      readonly isUnused: boolean;
    };

/** Why none of the machines serves, according to the one with the latest heartbeat. */
export type NoProviderCause = 'silent' | 'engine' | 'no-gpu' | 'verifying' | 'failed';

/** The report that contains the upstream, and its age. */
interface ConditionContext {
  readonly status: StatusReport;
  readonly sighting: Sighting;
  /** Milliseconds since the report arrived, by which its countdowns have advanced. */
  readonly elapsedMs: number;
  /** The gateway's clock, in milliseconds since the epoch. */
  readonly serverNow: number;
}

/** An upstream's condition; the cause that lasts longest takes precedence. */
export function conditionOf(upstream: UpstreamReport, context: ConditionContext): Condition {
  const { status, sighting, elapsedMs } = context;
  const { circuit } = upstream;
  const missing = missingPart(upstream, context);
  if (missing) return missing;
  if (status.zero && upstream.id !== 'local') return { kind: 'zero-spend' };
  const skip = activeSkip(upstream, context.serverNow);
  if (skip) return skip;
  if (circuit.open) return openCondition(upstream, context);
  const isHealed = sighting.kind === 'answered';
  if (circuit.consecutiveFails > 0 && !isHealed) {
    const limit = status.stats.config.failThreshold;
    return { kind: 'failing', fails: circuit.consecutiveFails, limit };
  }
  if (upstream.id === 'ondemand') return onDemand(status, elapsedMs);
  return seenCondition(upstream, sighting);
}

function openCondition(upstream: UpstreamReport, context: ConditionContext): Condition {
  const { status, sighting, elapsedMs } = context;
  const { consecutiveFails, cooldownRemainingMs } = upstream.circuit;
  const remainingMs = Math.max(0, cooldownRemainingMs - elapsedMs);
  const cause = consecutiveFails > 0 ? 'failures' : 'slow';
  if (remainingMs === 0) {
    // An answered health check does not show that a slow upstream has become faster.
    const isHealed = sighting.kind === 'answered' && cause === 'failures';
    return isHealed ? { kind: 'closed', isUnused: false } : { kind: 'probe' };
  }
  const share = cooldownShare(upstream, status, remainingMs);
  return { kind: 'cooling', cause, remainingMs, share };
}

function seenCondition({ circuit }: UpstreamReport, sighting: Sighting): Condition {
  if (sighting.kind === 'untested') return { kind: 'untested' };
  if (sighting.kind === 'failed') return { kind: 'down', reason: sighting.reason };
  return { kind: 'closed', isUnused: sighting.by === 'check' && circuit.lastSuccessAt === null };
}

/** True if a request would be sent to the upstream in its turn. */
export function isAdmitted(condition: Condition): boolean {
  switch (condition.kind) {
    case 'closed':
    case 'on-demand':
    case 'failing':
    case 'probe':
    case 'down':
    case 'untested':
      return true;
    default:
      return false;
  }
}

function onDemand(status: StatusReport, sinceMs: number): Condition {
  const { elapsedMs, usualMs } = status.ondemand_warmup_detail;
  const startMs = elapsedMs === null ? null : elapsedMs + sinceMs;
  return { kind: 'on-demand', warmup: status.ondemand_warmup, startMs, usualMs };
}

function missingPart(
  upstream: UpstreamReport,
  { status, serverNow }: ConditionContext,
): Condition | null {
  // `healthy` is "set up, circuit closed, no skip"; given the last two, it says whether it is set up.
  if (upstream.healthy || upstream.circuit.open || upstream.skips.length > 0) return null;
  const { verified_count, pending_count, failed_count } = status.local;
  const machines = verified_count + pending_count + failed_count;
  if (upstream.id === 'local' && machines > 0) {
    const cause = causeOf(status, serverNow);
    const isUsable = hasEngine(status) && cause !== 'no-gpu';
    const isUnused = machines === 1 && !isUsable && upstream.circuit.lastSuccessAt === null;
    return isUnused ? { kind: 'missing', wants: 'engine' } : { kind: 'no-provider', cause };
  }
  const wants = upstream.baseUrl !== null && !upstream.hasKey ? 'key' : 'address';
  return { kind: 'missing', wants };
}

/** Above the 45 s after which the registry counts a machine as stale. */
const SILENT_MS = 60_000;

function causeOf({ local: { provider } }: StatusReport, serverNow: number): NoProviderCause {
  if (provider === null) return 'failed';
  const { last_heartbeat, engine_health, verification } = provider;
  if (serverNow - Date.parse(last_heartbeat) > SILENT_MS) return 'silent';
  if (engine_health.status !== 'ok') return 'engine';
  if (verification.failure_reason.startsWith(`${CHECKS.gpuCount}:`)) return 'no-gpu';
  return verification.status === 'failed' ? 'failed' : 'verifying';
}

/** Whether the reported machine has an engine: every gateway knows its own machine, which may have none. */
function hasEngine({ local }: StatusReport): boolean {
  return local.provider?.engine_health.status !== 'no engine found';
}

function activeSkip(upstream: UpstreamReport, serverNow: number): Condition | null {
  const longest = upstream.skips
    .filter((skip) => skip.model === undefined || skip.model === upstream.model)
    .map(({ reason, until }) => ({ reason, remainingMs: Date.parse(until) - serverNow }))
    .filter(({ remainingMs }) => remainingMs > 0)
    .toSorted((a, b) => b.remainingMs - a.remainingMs)[0];
  return longest ? { kind: 'skipped', ...longest } : null;
}

/** The remaining share. The start is not reported: estimated by the last failure and the configured cool-down. */
function cooldownShare(
  { circuit }: UpstreamReport,
  { stats }: StatusReport,
  remainingMs: number,
): number {
  const sinceFailure = Date.parse(circuit.failUntil ?? '') - Date.parse(circuit.lastFailAt ?? '');
  const known = circuit.consecutiveFails > 0 && sinceFailure > 0 ? sinceFailure : 0;
  return Math.min(1, remainingMs / Math.max(known, stats.config.cooldownMs));
}

const NOT_FAILING: ReadonlySet<Condition['kind']> = new Set(['closed', 'on-demand', 'untested']);

/** True if the upstream is not known to fail; it may never have been seen to answer. */
export function isSound({ kind }: Condition): boolean {
  return NOT_FAILING.has(kind);
}

/**
 * The upstream expected to answer the next request: the first that is not known to fail, otherwise the first that may
 * be tried; null if there is none.
 */
export function nextUpstream(
  status: StatusReport,
  sightings: LiveSnapshot['sightings'],
): UpstreamId | null {
  const serverNow = Date.parse(status.timestamp);
  const upstreams = status.upstreams.map((report) => ({
    id: report.id,
    condition: conditionOf(report, {
      status,
      sighting: sightings[report.id],
      elapsedMs: 0,
      serverNow,
    }),
  }));
  const next =
    upstreams.find(({ condition }) => isSound(condition)) ??
    upstreams.find(({ condition }) => isAdmitted(condition));
  return next?.id ?? null;
}

/** Milliseconds until the first cool-down or exclusion ends; null if there is none. */
export function nextEndMs({ upstreams, timestamp }: StatusReport): number | null {
  const now = Date.parse(timestamp);
  const waits = upstreams
    .flatMap(({ circuit, skips }) => [
      circuit.cooldownRemainingMs,
      ...skips.map(({ until }) => Date.parse(until) - now),
    ])
    .filter((waitMs) => waitMs > 0);
  return waits.length === 0 ? null : Math.min(...waits);
}

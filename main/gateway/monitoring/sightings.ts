import { mapUpstreams, type UpstreamId } from '#shared/ids.ts';
import type { Sighting } from '#shared/condition.ts';
import type { VerificationProof } from '#shared/provider.ts';
import type { HealthRecord } from '../circuits/breaker.ts';
import type { Circuits } from '../circuits/circuits.ts';
import { seenOf } from '../circuits/seen.ts';
import type { Memory } from '../memory/memory.ts';
import type { CheckFacts, CheckOutcome, Setback } from '../memory/topics.ts';

/* What is known about each upstream from requests, checks and tests, for people: routing does not use any of this. */

interface Findings {
  readonly memory: Memory;
  readonly circuits: Circuits;
  readonly proof: (id: string) => VerificationProof | null;
}

/** `pool`: the machines that a request may go to; null if Local is one engine. */
export function sightingsOf(
  pool: readonly string[] | null,
  findings: Findings,
): Record<UpstreamId, Sighting> {
  const { memory, circuits } = findings;
  return mapUpstreams((id) =>
    id === 'local' && pool !== null
      ? poolSighting(pool, findings)
      : sightingOf(circuits.at(id).breaker.health, seenOf(memory.of(id))),
  );
}

/** The pool answers if one of its machines does. */
function poolSighting(ids: readonly string[], findings: Findings): Sighting {
  let found: Sighting = { kind: 'answered', by: 'check' };
  for (const id of ids) {
    found = machineSighting(id, findings);
    if (found.kind === 'answered') break;
  }
  return found;
}

function machineSighting(id: string, { memory, circuits, proof }: Findings): Sighting {
  const { health } = circuits.at(id).breaker;
  const checked = seenOf(memory.of(id));
  const failedAt = health.lastFailAt ?? 0;
  const { checkedAt, hasFailed, completedAt } = proof(id) ?? UNKNOWN_PROOF;
  const last = [
    // A machine that routing may choose has passed a verification, whenever that was.
    { at: completedAt ?? 0, failure: null, isTest: true },
    { at: checkedAt, failure: hasFailed ? 'verification' : null, isTest: false },
    ...(checked.last ? [checked.last] : []),
  ]
    .toSorted((a, b) => a.at - b.at || Number(a.isTest) - Number(b.isTest))
    // A passed check after a completion takes nothing away from it.
    .reduce((so, next) => {
      const isWeaker = so.isTest && so.failure === null && next.failure === null && !next.isTest;
      return isWeaker && so.at >= failedAt ? so : next;
    });
  return sightingOf(health, { ...checked, last });
}

const UNKNOWN_PROOF: VerificationProof = { checkedAt: 0, hasFailed: false, completedAt: null };

function sightingOf(health: HealthRecord, seen: CheckFacts): Sighting {
  const { since, last } = seen;
  const servedAt = after(since, health.provenAt);
  const failedAt = Math.max(
    after(since, health.lastFailAt),
    after(since, seen.setback?.at ?? null),
  );
  const failure = failureOf(health, seen);
  // What was seen before the last request is outdated.
  const check = last !== null && last.at >= Math.max(servedAt, failedAt) ? last : null;
  if (check?.failure) return { kind: 'failed', by: 'check', reason: check.failure };
  if (failure !== null) {
    return check !== null && showsRecovery(check, { failure, lastFailedAt: seen.lastFailedAt })
      ? { kind: 'answered', by: 'check' }
      : { kind: 'failed', by: failure.by, reason: failure.reason };
  }
  if (servedAt > 0) return { kind: 'answered', by: 'request' };
  return last === null ? { kind: 'untested' } : { kind: 'answered', by: 'check' };
}

/** How the last request or test failed; null if it did not. */
function failureOf(health: HealthRecord, { since, setback }: CheckFacts): Setback | null {
  const { provenAt, lastFailAt, lastError, owes } = health;
  const failedAt = after(since, lastFailAt);
  const isLast = setback !== null && setback.at > Math.max(since, provenAt ?? 0, failedAt);
  if (isLast) return setback;
  if (owes === null || failedAt === 0) return null;
  return { at: failedAt, reason: lastError?.split(': ', 1)[0] ?? '', by: 'request' };
}

/** `at` if it is later than `since`, otherwise 0. */
function after(since: number, at: number | null): number {
  return at !== null && at > since ? at : 0;
}

/**
 * Whether an answered check shows that the upstream has recovered. A list of models does not show this if the upstream
 * has listed its models all along.
 */
function showsRecovery(
  { isTest }: CheckOutcome,
  { failure, lastFailedAt }: Pick<CheckFacts, 'lastFailedAt'> & { readonly failure: Setback },
): boolean {
  if (isTest || failure.reason === 'unreachable') return true;
  return lastFailedAt !== null && lastFailedAt >= failure.at;
}

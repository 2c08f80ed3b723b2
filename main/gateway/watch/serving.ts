import type { UpstreamId } from '#shared/ids.ts';
import type { LocalHealth } from '#shared/status.ts';
import { waitMsOf } from '../circuit/breaker.ts';
import { activeSkips } from '../circuit/skips.ts';
import { chooseInOrder } from '../local/choice.ts';
import type { LocalTarget } from '../request/upstreams.ts';
import type { StatusParts } from './status.ts';

/** Whether an upstream could serve a request now; with `zero` only what costs nothing may. */
export function canServe(id: UpstreamId, parts: StatusParts, zero: boolean): boolean {
  if (!isThere(id, parts) || (zero && id !== 'local')) return false;
  return isAdmitted(id, parts);
}

/** Whether `local` can serve now, could if its circuits let it, or cannot at all (design 7). */
export function localHealth(parts: StatusParts): LocalHealth {
  if (canServe('local', parts, true)) return 'ok';
  return parts.local.kind === 'target' || parts.providers.counts.verified > 0
    ? 'degraded'
    : 'unavailable';
}

/** The machine that routing would pick now, but for chance; null when it would pick none. */
export function localPick(parts: StatusParts): LocalTarget | null {
  if (parts.local.kind !== 'tier') return null;
  const standing = (target: LocalTarget) =>
    target.provider !== null && isAdmitted(target.provider, parts)
      ? { target, ewmaTtft: null, predictedTtft: null, inFlight: 0 }
      : null;
  return chooseInOrder(parts.local.targets, standing, null, () => 0)[0] ?? null;
}

function isThere(id: UpstreamId, parts: StatusParts): boolean {
  if (id !== 'local') return parts.config[id].baseUrl !== null;
  return parts.local.kind === 'target' || localPick(parts) !== null;
}

/** A model that is missing keeps only requests for that model out. */
function isAdmitted(id: string, { circuitAt, now }: StatusParts): boolean {
  const { breaker, skips } = circuitAt(id);
  return (
    waitMsOf(breaker, now) === 0 &&
    activeSkips(skips, now).every(({ reason }) => reason === 'model_not_found')
  );
}

import type { UpstreamId } from '#shared/ids.ts';
import type { Config } from '../../config.ts';
import type { UpstreamCall } from '../request/calls.ts';

type Routing = Config['routing'];

/**
 * Whether `to` may be asked while `from` is slow. By itself nobody's prompt or money leaves the house
 * because `local` was slow: that takes `all`.
 */
export function mayHedge(hedge: Routing['hedge'], from: UpstreamId, to: UpstreamId): boolean {
  if (hedge === 'off') return false;
  return hedge === 'all' || (from === 'local') === (to === 'local');
}

/** A plain answer comes as a whole, however fast its first token was: that it takes long says nothing. */
export function showsContent({ mode }: UpstreamCall): boolean {
  return mode !== 'whole';
}

/** After so many milliseconds without content a call is slow. */
export function slowLineMs({ routing, circuit }: Config): number {
  return routing.hedgeMs ?? circuit.ttftThresholdMs;
}

import type { TransportFailure } from '../transport-failure.ts';

/**
 * How long an idle connection is kept where the upstream does not say. Engines close theirs after 5 s
 * or more, which is noticed at once but for a race, and that one request is sent again.
 */
export const KEEP_ALIVE_MS = 30_000;
/** Response heads beyond this are malformed. */
export const MAX_HEAD_BYTES = 32 * 1024;
/**
 * Heads before the final one: an upstream that says `102 Processing` every ten seconds may do so for a
 * quarter of an hour, and one that sends nothing else is given up.
 */
export const MAX_INTERIM_HEADS = 100;

/** What some say on a connection that was idle for too long, before they close it. */
export const REQUEST_TIMEOUT_STATUS = 408;
/** Such an answer, met on a kept connection: the request may be sent again on a new one (RFC 9110, 15.5.9). */
export const TIMED_OUT: TransportFailure = {
  kind: 'unreachable',
  stale: true,
  detail: 'the connection had timed out (408)',
};

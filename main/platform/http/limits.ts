/**
 * How long an idle connection is kept where the upstream does not say. Engines close theirs after 5 s
 * or more, which is noticed at once but for a race, and that one request is sent again.
 */
export const KEEP_ALIVE_MS = 30_000;
/** Response heads beyond this are malformed (design 4). */
export const MAX_HEAD_BYTES = 32 * 1024;

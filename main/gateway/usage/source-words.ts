import type { LiveEvent, RequestRow } from '#shared/live.ts';

/*
 * What a source says in an error may quote a prompt or an answer, in any spelling. It is kept in memory only, and is not
 * for people who read by a key: the owner may have given them theirs.
 */

/** Of each failure only what precedes the source's own words, such as `HTTP 500`. */
export const rowWithoutWords = (row: RequestRow): RequestRow => ({
  ...row,
  attempts: row.attempts.map((attempt) => ({
    ...attempt,
    error: attempt.error?.split(': ', 1)[0] ?? null,
  })),
});

/** Moves are told apart by those words alone. Who else has tried to get in is for the owner as well. */
export function eventWithoutWords(event: LiveEvent): LiveEvent {
  const hidden = { moves: [], keyRefusals: null };
  return event.kind === 'snapshot'
    ? { ...event, requests: event.requests.map(rowWithoutWords), ...hidden }
    : { ...event, upsert: event.upsert.map(rowWithoutWords), ...hidden };
}

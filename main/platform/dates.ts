/** Milliseconds since the epoch of an HTTP date (RFC 9110, 5.6.7); null for other texts. */
export function parseHttpDate(text: string): number | null {
  if (!/^\w{3},? .*\d\d:\d\d:\d\d/.test(text.trim())) return null;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : ms;
}

/** Milliseconds since the epoch of an ISO 8601 time; NaN for other texts. */
export function isoMs(text: string): number {
  return Date.parse(text);
}

/** ISO 8601 in UTC, from milliseconds since the epoch. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

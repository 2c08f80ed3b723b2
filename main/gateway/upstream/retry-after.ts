import { parseHttpDate } from '../../platform/dates.ts';
import type { ResponseHeaders } from '../../platform/http/types.ts';

/**
 * The wait that an upstream asks for, in milliseconds; null if it names none.
 * Reads `retry-after-ms` (OpenAI's clients honour it) and `Retry-After` as seconds or as a date (RFC 9110, 10.2.3).
 */
export function retryAfterMs(headers: ResponseHeaders, nowMs: number): number | null {
  // An empty value would read as 0.
  const exact = Number(headers['retry-after-ms'] || Number.NaN);
  if (Number.isFinite(exact) && exact >= 0) return exact;
  const value = headers['retry-after'];
  if (typeof value !== 'string' || value.trim() === '') return null;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return seconds >= 0 ? seconds * 1000 : null;
  const dateMs = parseHttpDate(value);
  return dateMs === null ? null : Math.max(0, dateMs - nowMs);
}

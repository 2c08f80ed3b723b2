import { assertNever } from '#shared/assert.ts';
import type { RequestRow } from '#shared/live.ts';
import type { UpstreamReport } from '#shared/status.ts';
import { parseFallbackReason } from './fallback-reason.ts';
import { formatCount } from './format.ts';
import { reasonText } from './reason-text.ts';
import type { Tone } from './station-words.ts';

/** A request's state as the page says it. */
interface Outcome {
  readonly tone: Tone;
  readonly word: string;
}

/** Display names by upstream id. */
export type Labels = ReadonlyMap<string, string>;

/** The names the user gave the upstreams. */
export function labelsOf(upstreams: readonly UpstreamReport[]): Labels {
  return new Map(upstreams.map(({ id, label }) => [id, label]));
}

/** Says how a request stands. */
export function outcomeOf(row: RequestRow): Outcome {
  switch (row.state) {
    case 'running':
      return row.attempts.some(({ firstContentMs, endMs }) => firstContentMs !== null && !endMs)
        ? { tone: 'green', word: 'answering' }
        : { tone: 'grey', word: 'waiting' };
    case 'done':
      return { tone: 'green', word: 'done' };
    case 'failed':
      return { tone: 'red', word: row.status === null ? 'failed' : `failed, ${row.status}` };
    case 'broken':
      return { tone: 'red', word: 'broke off' };
    case 'cancelled':
      return { tone: 'grey', word: 'cancelled' };
    default:
      return assertNever(row.state, 'request state');
  }
}

/** Who answers the request or is being asked, `nobody` when everyone was left. */
export function whoOf(row: RequestRow, labels: Labels): string {
  const asked = row.attempts.at(-1);
  const id = row.upstream ?? (row.state === 'running' ? asked?.upstream : undefined);
  if (id !== undefined) return labels.get(id) ?? id;
  return row.state === 'running' ? 'choosing' : 'nobody';
}

/** Why the ones before did not answer, null when the first one asked did. */
export function afterOf(row: RequestRow, labels: Labels): string | null {
  const left = parseFallbackReason(row.fallbackReason).map(
    ({ upstream, provider, reason }) =>
      `${labels.get(upstream) ?? upstream}${provider ? `/${provider}` : ''} ${reasonText(reason)}`,
  );
  return left.length === 0 ? null : left.join(', ');
}

/** How much of an answer came; an event is about a token. */
export function amountOf({ events, stream, state }: RequestRow): string {
  if (events > 0) return `≈ ${formatCount(events)} tokens`;
  return !stream && state === 'done' ? 'whole answer' : '';
}

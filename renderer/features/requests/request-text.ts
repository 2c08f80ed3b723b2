import { assertNever } from '#shared/assert.ts';
import type { RequestRow } from '#shared/live.ts';
import { nameOf, type Labels } from './attempt-names.ts';
import { gaveContent } from './attempt-text.ts';
import { silentMsOf } from './waterfall-model.ts';
import { parseFallbackReason } from '../../text/fallback-reason.ts';
import { formatCount, formatDuration } from '../../text/format.ts';
import { reasonText } from '../../text/reason-text.ts';
import { briefStoryOf } from './request-timeline.ts';
import type { Tone } from '../overview/upstream-status-text.ts';

/** A request's state as the page says it. */
interface OutcomeWords {
  readonly tone: Tone;
  readonly word: string;
}

/** Says how a request stands `elapsedMs` after it came. */
export function outcomeWords(row: RequestRow, elapsedMs: number): OutcomeWords {
  switch (row.state) {
    case 'running':
      return runningWords(row, elapsedMs);
    case 'done':
      return { tone: 'green', word: 'done' };
    case 'failed':
      return { tone: 'red', word: row.status === null ? 'failed' : `failed · ${row.status}` };
    case 'broken':
      return { tone: 'red', word: 'dropped' };
    case 'cancelled':
      return { tone: 'grey', word: 'cancelled' };
    default:
      return assertNever(row.state, 'request state');
  }
}

function runningWords({ attempts }: RequestRow, elapsedMs: number): OutcomeWords {
  const silentMs = Math.max(0, ...attempts.map((attempt) => silentMsOf(attempt, elapsedMs)));
  if (silentMs > 0) return { tone: 'amber', word: `silent for ${formatDuration(silentMs)}` };
  const isAnswering = attempts.some(
    ({ firstContentMs, endMs }) => firstContentMs !== null && endMs === null,
  );
  if (isAnswering) return { tone: 'green', word: 'answering' };
  const isBroken = attempts.some(({ cause }) => cause === 'resume');
  return { tone: 'grey', word: isBroken ? 'switching upstream' : 'waiting' };
}

/** The upstreams that gave the answer or are being called; `No upstream` if none answered. */
export function whoOf(row: RequestRow, labels: Labels): string {
  const { attempts, upstream, state } = row;
  const name = (attempt: (typeof attempts)[number]) => nameOf(attempt, row, labels);
  const givers = attempts.filter((attempt) => gaveContent(attempt, row));
  if (givers.length > 0) return givers.map(name).join(', then ');
  if (upstream !== null) return labels.get(upstream) ?? upstream;
  if (state !== 'running') return 'No upstream';
  const asked = attempts.filter(({ endMs }) => endMs === null);
  const named = asked.length > 0 ? asked : attempts.slice(-1);
  return named.length > 0 ? named.map(name).join(' and ') : 'choosing';
}

/**
 * The story when calls ran side by side or an answer was resumed, else why earlier attempts did not answer; null when
 * the first one answered.
 */
export function whyOf(row: RequestRow, labels: Labels): string | null {
  if (row.attempts.some(({ cause }) => cause !== 'turn')) return briefStoryOf(row, labels);
  const left = parseFallbackReason(row.fallbackReason).map(
    ({ upstream, provider, reason }) =>
      `${labels.get(upstream) ?? upstream}${provider ? `/${provider}` : ''} ${reasonText(reason)}`,
  );
  return left.length === 0 ? null : `after ${left.join(', ')}`;
}

/** An event is about one token. */
export function amountOf({ events, stream, state }: RequestRow): string {
  if (events > 0) return `≈ ${formatCount(events)} tokens`;
  return !stream && state === 'done' ? 'not streamed' : '';
}

import type { AttemptRow, RequestRow } from '#shared/live.ts';
import { formatDuration } from '../../text/format.ts';
import {
  causeText,
  circuitText,
  type Labels,
  nameOf,
  resultText,
  skippedUpstreams,
  storyOf,
  usageText,
} from './request-text.ts';

const idOf = ({ upstream, provider }: AttemptRow) =>
  provider === null ? upstream : `${upstream}/${provider}`;

/** A request as text for a bug report, without caller, secrets, prompt or answer. */
export function bugReportOf(row: RequestRow, labels: Labels, version: string): string {
  const attempts = row.attempts.map((attempt) =>
    [
      `+${formatDuration(attempt.startMs)}`,
      `${nameOf(attempt, row, labels)} (${idOf(attempt)}, model ${attempt.model ?? 'not named'})`,
      causeText(attempt, row, labels),
      resultText(attempt, row),
      ...(attempt.error === null ? [] : [attempt.error]),
      ...(usageText(attempt) === null ? [] : [usageText(attempt)]),
      `circuit ${circuitText(attempt)}`,
      attempt.endMs === null
        ? 'running'
        : `took ${formatDuration(attempt.endMs - attempt.startMs)}`,
    ].join('; '),
  );
  const skips = skippedUpstreams(row).map(
    ({ upstream, reason }) => `skipped ${upstream}: ${reason}`,
  );
  return [
    `Inglenook ${version}, request ${row.id}, ${new Date(row.startedAt).toISOString()}`,
    `${storyOf(row, labels)}.`,
    `State ${row.state}, HTTP ${row.status ?? 'not yet'}, ${row.stream ? 'streamed' : 'not streamed'}, ${row.events} events, ${row.endMs ?? 'still running,'} ms`,
    `Endpoint: ${row.endpoint}`,
    `Requested model: ${row.model ?? 'not specified'}`,
    `X-Gateway-Fallback-Reason: ${row.fallbackReason}`,
    ...[...skips, ...attempts].map((line) => `- ${line}`),
  ].join('\n');
}

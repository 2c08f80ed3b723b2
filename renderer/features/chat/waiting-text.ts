import type { LiveData } from '../../api/live-data.ts';
import { formatCountdown } from '../../text/format.ts';
import { t } from '../../text/t.ts';
import type { Labels } from '../requests/attempt-names.ts';

/** What a question of this browser waits for: a GPU that is being started takes minutes, and the page says so. */
export function waitingText(
  { requests, status, statusAt }: Pick<LiveData, 'requests' | 'status' | 'statusAt'>,
  { labels, now, userAgent }: { labels: Labels; now: number; userAgent: string },
): string {
  const own = requests.find(
    ({ state, caller }) =>
      // The gateway keeps the beginning of a long one.
      state === 'running' && caller?.userAgent && userAgent.startsWith(caller.userAgent),
  );
  const isStarting =
    status.ondemand_warmup === 'warming' &&
    own?.attempts.some(({ upstream, endMs }) => upstream === 'ondemand' && endMs === null);
  if (!isStarting) return t.chat.waiting;
  const { elapsedMs, usualMs } = status.ondemand_warmup_detail;
  return t.chat.startingGpu(
    labels.get('ondemand') ?? 'ondemand',
    elapsedMs === null ? null : formatCountdown(elapsedMs + Math.max(0, now - statusAt)),
    usualMs === null ? null : formatCountdown(usualMs),
  );
}

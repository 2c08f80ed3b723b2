const COUNT = new Intl.NumberFormat('en');
const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const CLOCK = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });

/** `310 ms`, `2.9 s`, `43 s`, `2 min 05 s`, `1 h 04 min`. */
export function formatDuration(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 9_950) return `${(ms / 1000).toFixed(1)} s`;
  return formatSeconds(Math.round(ms / 1000));
}

/** Time left, rounded up: it reads `1 s` until it is over. */
export function formatCountdown(ms: number): string {
  return formatSeconds(Math.ceil(ms / 1000));
}

/** `1,204`. */
export function formatCount(count: number): string {
  return COUNT.format(count);
}

/** `1,204`, from ten thousand on `12.4K`: for places that cannot grow. */
export function formatCompact(count: number): string {
  return count < 10_000 ? COUNT.format(count) : COMPACT.format(count);
}

/** Wall-clock time of day, `14:31:07`. */
export function formatClock(epochMs: number): string {
  return CLOCK.format(epochMs);
}

/** Time of day, with its day where that is another than today's: `18 Nov, 14:31:07`. */
export function formatMoment(epochMs: number, nowMs: number): string {
  const today = DAY.format(epochMs) === DAY.format(nowMs);
  return today ? CLOCK.format(epochMs) : `${DAY.format(epochMs)}, ${CLOCK.format(epochMs)}`;
}

/** One unit: `4 s ago`, `3 min ago`, `2 h ago`, `5 d ago`. */
export function formatAge(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86_400)} d ago`;
}

/** `1 request`, `2 requests`; a plural of its own where an s is not enough. */
export function formatPlural(count: number, noun: string, plural = `${noun}s`): string {
  return `${formatCount(count)} ${count === 1 ? noun : plural}`;
}

function formatSeconds(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${pad(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${pad(Math.floor(seconds / 60) % 60)} min`;
}

function pad(value: number): string {
  return String(value).padStart(2, '0');
}

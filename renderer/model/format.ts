const COUNT = new Intl.NumberFormat('en');
const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
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

/** `1 request`, `2 requests`. */
export function formatPlural(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
}

function formatSeconds(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${pad(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${pad(Math.floor(seconds / 60) % 60)} min`;
}

function pad(value: number): string {
  return String(value).padStart(2, '0');
}

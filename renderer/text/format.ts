const LANGUAGE = 'en-GB';
const COUNT = new Intl.NumberFormat(LANGUAGE);
/** British English writes `5m`, which reads as minutes. */
const COMPACT = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });
/** One answer of a small model costs less than a thousandth. */
const TINY = new Intl.NumberFormat(LANGUAGE, { maximumSignificantDigits: 2 });
const DAY = new Intl.DateTimeFormat(LANGUAGE, { day: 'numeric', month: 'short' });
const CLOCK = new Intl.DateTimeFormat(LANGUAGE, { timeStyle: 'medium' });
const PLURAL = new Intl.PluralRules(LANGUAGE);
const LIST = new Intl.ListFormat(LANGUAGE);

/** Sorts text naturally, with numbers in it as numbers. */
export const COLLATOR = new Intl.Collator(LANGUAGE, { numeric: true });

/** `310 ms`, `2.9 s`, `43 s`, `2 min 05 s`, `1 h 04 min`, `4 days`. */
export function formatDuration(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 9_950) return `${(ms / 1000).toFixed(1)} s`;
  return formatSeconds(Math.round(ms / 1000));
}

/** Time left, rounded up, so that it reads `1 s` until it is over. */
export const formatCountdown = (ms: number): string => formatSeconds(Math.ceil(ms / 1000));

/** A configured duration: `250 ms`, `2.5 s`, `8 s`, `1 min`, `1 h 30 min`. */
export function formatSpan(ms: number): string {
  if (ms < 1000) return `${ms} ms`;
  if (ms < 60_000) return `${ms / 1000} s`;
  return formatSeconds(Math.round(ms / 1000)).replace(/ 00 (s|min)$/, '');
}

/** `1,204`. */
export const formatCount = (count: number): string => COUNT.format(count);

/** `1,204`, from ten thousand on `12.4K`, for places of fixed width. */
export const formatCompact = (count: number): string =>
  count < 10_000 ? COUNT.format(count) : COMPACT.format(count);

/** Billionths of a currency: `0.000012 EUR`, `0.064 EUR`, `0.40 EUR`, `12.30 EUR`. */
export function formatMoney(nano: number, currency: string): string {
  const amount = nano / 1e9;
  const isTiny = nano !== 0 && Math.abs(amount) < 0.1;
  return `${isTiny ? TINY.format(amount) : amount.toFixed(2)} ${currency}`;
}

/** Memory, in powers of 1,024 as the makers of GPUs count it: `512 MB`, `18.6 GB`, `140 GB`. */
export const formatMemory = (bytes: number): string => formatSize(bytes, 1024);

/** A file, in powers of 1,000 as the lists of models count them: `270 MB`, `4.9 GB`. */
export const formatFileSize = (bytes: number): string => formatSize(bytes, 1000);

/** A size below one GB is given in MB; one that is not zero never reads as zero. */
function formatSize(bytes: number, base: number): string {
  const mb = bytes / base ** 2;
  if (Math.round(mb) < base)
    return `${formatCount(bytes === 0 ? 0 : Math.max(1, Math.round(mb)))} MB`;
  const gb = mb / base;
  return `${gb < 99.95 ? Number(gb.toFixed(1)) : formatCount(Math.round(gb))} GB`;
}

/** `12 of 24 GB`, `300 MB of 24 GB`: the unit once if it is the same. */
export function formatMemoryOf(usedBytes: number, totalBytes: number): string {
  const [used, total] = [formatMemory(usedBytes), formatMemory(totalBytes)];
  const isSame = usedBytes === 0 || used.slice(-2) === total.slice(-2);
  return `${isSame ? used.slice(0, -3) : used} of ${total}`;
}

/** Wall-clock time of day, `14:31:07`. */
export const formatClock = (epochMs: number): string => CLOCK.format(epochMs);

/** Time of day, with the date if it is not today: `18 Nov, 14:31:07`. */
export function formatMoment(epochMs: number, nowMs: number): string {
  const today = DAY.format(epochMs) === DAY.format(nowMs);
  return today ? CLOCK.format(epochMs) : `${DAY.format(epochMs)}, ${CLOCK.format(epochMs)}`;
}

/** The same to the minute: `18 Nov, 14:30`. */
export const formatMinute = (epochMs: number, nowMs: number): string =>
  formatMoment(epochMs, nowMs).replace(/:\d\d$/, '');

/** An age in one unit: `4 s ago`, `3 min ago`, `2 h ago`, `5 d ago`. */
export function formatAge(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86_400)} d ago`;
}

/** A noun's plural forms; English has two. */
export type Forms = Readonly<Partial<Record<Intl.LDMLPluralRule, string>> & { other: string }>;

export const formFor = (count: number, forms: Forms): string =>
  forms[PLURAL.select(count)] ?? forms.other;

/** `1 request`, `1,204 requests`. */
export const counted = (count: number, forms: Forms): string =>
  `${formatCount(count)} ${formFor(count, forms)}`;

/** `Groq, OpenAI and OpenRouter`. */
export const formatList = (names: readonly string[]): string => LIST.format(names);

function formatSeconds(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${pad(seconds % 60)} s`;
  if (seconds >= 172_800) return `${Math.floor(seconds / 86_400)} days`;
  return `${Math.floor(seconds / 3600)} h ${pad(Math.floor(seconds / 60) % 60)} min`;
}

const pad = (value: number): string => String(value).padStart(2, '0');

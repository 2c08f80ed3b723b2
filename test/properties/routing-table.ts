import type { HostedId, UpstreamId } from '#shared/ids.ts';

/** What an upstream does with a call. */
export const BEHAVIOURS = [
  'ok',
  'slow',
  'cut',
  'refused',
  'timeout',
  '500',
  '503',
  '503 busy',
  '429',
  '429 short',
  '429 long',
  '402',
  '401',
  '404 model',
  '400 context',
  '500 picture',
  '400',
] as const;

export type Behaviour = (typeof BEHAVIOURS)[number];

/** One chat completion and what it meets. */
export interface Ask {
  readonly kind: 'ask';
  readonly meets: Readonly<Record<UpstreamId, Behaviour>>;
  /** What a second try meets, wherever it is made. */
  readonly again: Behaviour;
  readonly model: string;
  readonly stream: boolean;
  readonly zero: boolean;
}

export interface Limits {
  readonly failThreshold: number;
  readonly cooldownMs: number;
  readonly ttftSlowThreshold: number;
}

/** What happens to the gateway. */
export type Action =
  | Ask
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'reset'; readonly id: UpstreamId }
  /** A new key: another upstream. */
  | { readonly kind: 'rekey'; readonly id: Exclude<UpstreamId, 'local'> }
  | { readonly kind: 'limits'; readonly limits: Limits }
  | { readonly kind: 'force_zero'; readonly on: boolean }
  /** Null ends it. Refused where it is not set up, and while no money may be spent. */
  | { readonly kind: 'prefer'; readonly id: HostedId | null };

export const TIMEOUT_MS: Readonly<Record<UpstreamId, number>> = {
  local: 2000,
  hosted_a: 4000,
  hosted_b: 4000,
  hosted_c: 4000,
  // Too short for a single poll: a cold start is over as it begins.
  ondemand: 900,
};
export const SLOW_MS = 250;
export const TTFT_THRESHOLD_MS = 200;
/** A short `Retry-After`, and the pause after a 500 with the jitter at its middle. */
export const SHORT_MS = 1300;
export const HICCUP_MS = 125;
/** The longest `Retry-After` that is waited for. */
export const LONGEST_WAIT_MS = 2000;
export const FIRST_LIMITS: Limits = { failThreshold: 3, cooldownMs: 60_000, ttftSlowThreshold: 2 };

/** What a call meets that may last so long: an answer that comes later is none. */
export function within(leftMs: number, met: Behaviour): Behaviour {
  return met === 'slow' && leftMs <= SLOW_MS ? 'timeout' : met;
}

/** What comes of one call. */
export interface Verdict {
  readonly reason: string;
  /** F or 0 of the circuit column; an answer has neither yet. */
  readonly mark: 'F' | '0' | 'answer';
  /** As the last word. */
  readonly status: number;
  /** The caller gets the upstream's own response. */
  readonly own?: boolean;
  /** Nobody else is asked: at once, or as soon as another upstream has said so too. */
  readonly stops?: 'at_once' | 'when_repeated';
  readonly skipMs?: number;
  readonly retryMs?: number;
  /** `local` has room again after so long. */
  readonly backMs?: number;
}

/** Rows of the outcome table that are the same everywhere. */
const ROWS: Readonly<Partial<Record<Behaviour, Verdict>>> = {
  refused: { reason: 'unreachable', mark: 'F', status: 502 },
  timeout: { reason: 'timeout', mark: 'F', status: 504 },
  '500': { reason: 'http_500', mark: 'F', status: 502, retryMs: HICCUP_MS },
  '503': { reason: 'http_503', mark: 'F', status: 503 },
  '429': { reason: 'rate_limited', mark: '0', status: 429, skipMs: 15_000 },
  '429 long': { reason: 'rate_limited', mark: '0', status: 429, skipMs: 31_000 },
  '402': { reason: 'quota', mark: '0', status: 502, skipMs: 600_000 },
  '404 model': { reason: 'model_not_found', mark: '0', status: 404, skipMs: 60_000 },
  '400 context': { reason: 'context_length', mark: '0', status: 400, own: true },
  '500 picture': { reason: 'unsupported_input', mark: '0', status: 400, own: true },
  '400': { reason: 'http_400', mark: '0', status: 400, own: true, stops: 'when_repeated' },
};
const BUSY: Verdict = { reason: 'busy', mark: '0', status: 503, skipMs: 2000 };
const BROKEN: Verdict = { reason: 'bad_response', mark: 'F', status: 502 };
const ANSWER: Verdict = { reason: 'none', mark: 'answer', status: 200 };
/** `ondemand` was starting all its time. */
export const STARTING: Verdict = { reason: 'timeout', mark: 'F', status: 504 };

/** What each failure means, written out: status, reason, mark, error, fallback. */
export function verdictOf(
  behaviour: Behaviour,
  id: UpstreamId,
  stream: boolean,
  isCold: boolean,
): Verdict {
  switch (behaviour) {
    case 'ok':
    case 'slow':
      return ANSWER;
    case 'cut':
      return stream ? ANSWER : BROKEN;
    case '401':
      return id === 'local'
        ? { reason: 'http_401', mark: '0', status: 401, own: true, stops: 'at_once' }
        : { reason: 'credentials', mark: '0', status: 502, skipMs: 600_000 };
    case '503 busy':
      return id === 'local' ? BUSY : verdictOf('503', id, stream, isCold);
    case '429 short': {
      const skip = { reason: 'rate_limited', mark: '0', status: 429, skipMs: SHORT_MS } as const;
      return id === 'local' ? { ...skip, backMs: SHORT_MS } : { ...skip, retryMs: SHORT_MS };
    }
    default: {
      const row = ROWS[behaviour];
      if (row === undefined) throw new Error(behaviour);
      const saysStarting = behaviour === '503' || (behaviour === 'refused' && isCold);
      return id === 'ondemand' && saysStarting ? STARTING : row;
    }
  }
}

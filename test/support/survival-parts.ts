import * as fc from 'fast-check';
import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';

/** The answer of every honest upstream: characters of one to four bytes, no part of it twice. */
export const TRUTH = 'Één 🐢 loopt über 3 Brücken – langsam, Schritt für Schritt, nach Zürich. 🏁';
/** The reasoning of an upstream that sends it. */
export const THOUGHT = 'Wie weit ist es?';

/** How a stream ends. */
const ENDS = ['whole', 'cut', 'clean end', 'error', 'stall'] as const;

/** A stream, and how it is cut up. */
export interface StreamPart {
  readonly kind: 'stream';
  /** From here on it is an answer of its own; null: it is the truth. */
  readonly differsAt: number | null;
  readonly thinks: boolean;
  readonly callsTool: boolean;
  readonly role: 'alone' | 'with text' | 'none';
  /** Where the text is cut into events, and the bytes into pieces, as shares. */
  readonly deltas: readonly number[];
  readonly pieces: readonly number[];
  readonly end: (typeof ENDS)[number];
  /** How much of it comes, as a share of its events, and whether half an event more. */
  readonly comes: number;
  readonly half: boolean;
  /** Echoes first, in one piece, the partial answer. */
  readonly echoes: boolean;
}

/** What an upstream does with whatever it is asked. */
export type Part =
  | StreamPart
  | { readonly kind: 'json'; readonly differsAt: number | null }
  | { readonly kind: 'status'; readonly status: number }
  | { readonly kind: 'reset' }
  | { readonly kind: 'hang' };

const PREFILLS = ['none', 'last-message', 'continue_final_message', 'prefix'] as const;

/** An upstream of a history. */
export interface Actor {
  readonly part: Part;
  /** Its response to a request to continue: it does, or it refuses. */
  readonly takesPrefill: boolean;
  readonly prefill: (typeof PREFILLS)[number];
  readonly model: 'same' | 'other';
}

/** One chat completion and the world that it meets. */
export interface History {
  readonly actors: Readonly<Record<UpstreamId, Actor>>;
  /** A second machine of the owner's: with it `local` is a pool of two; null: it is one fixed engine. */
  readonly machine: Actor | null;
  readonly hedge: 'own' | 'all' | 'off';
  readonly resume: 'same-model' | 'any' | 'off';
  readonly stream: boolean;
  readonly deterministic: boolean;
  readonly leaves: 'never' | 'at its first bytes';
}

/** Anywhere: the ends are no likelier than the middle, where hand-overs happen. */
const share = fc.noBias(fc.nat(1000)).map((n) => n / 1000);
const shares = fc.array(share, { minLength: 2, maxLength: 8 });
const seldom = fc.noBias(fc.nat(9)).map((n) => n === 0);
const differsAt = fc.oneof(
  { weight: 6, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.nat(TRUTH.length - 1) },
);

const stream: fc.Arbitrary<Part> = fc.record({
  kind: fc.constant('stream'),
  differsAt,
  thinks: seldom,
  callsTool: seldom,
  role: fc.constantFrom('alone', 'with text', 'none'),
  deltas: shares,
  pieces: shares,
  end: fc.constantFrom(...ENDS, 'cut', 'error', 'clean end'),
  comes: share,
  half: fc.boolean(),
  echoes: fc.boolean(),
});

const part: fc.Arbitrary<Part> = fc.oneof(
  { weight: 20, arbitrary: stream },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('json'), differsAt }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('status'),
      status: fc.constantFrom(400, 401, 404, 429, 500, 503),
    }),
  },
  { weight: 1, arbitrary: fc.constantFrom({ kind: 'reset' }, { kind: 'hang' }, { kind: 'hang' }) },
);

const actor: fc.Arbitrary<Actor> = fc.record({
  part,
  takesPrefill: seldom.map((no) => !no),
  prefill: fc.constantFrom(...PREFILLS, 'last-message', 'prefix'),
  model: seldom.map((yes) => (yes ? 'other' : 'same')),
});

const actors = fc.record(
  Object.fromEntries(UPSTREAM_IDS.map((id) => [id, actor])) as Record<
    UpstreamId,
    fc.Arbitrary<Actor>
  >,
);

/** Any of them. */
export const histories: fc.Arbitrary<History> = fc.record({
  actors,
  machine: fc.option(actor, { freq: 2 }),
  hedge: fc.constantFrom('own', 'all', 'off'),
  resume: fc.noBias(fc.nat(9)).map((n) => (n === 0 ? 'off' : n < 4 ? 'same-model' : 'any')),
  stream: seldom.map((no) => !no),
  deterministic: fc.boolean(),
  leaves: seldom.map((yes) => (yes ? 'at its first bytes' : 'never')),
});

import { type Draws } from './draws.ts';

/** How an upstream words what it says; none of it changes the answer. */
export interface Manner {
  readonly role: 'alone' | 'with content' | 'none';
  readonly reasoningFields: readonly string[];
  /** The finish reason of the chunks before the last, as engines send it that have none yet. */
  readonly noReason: null | '' | 'null';
  /** The finish reason comes with the last words. */
  readonly endsTogether: boolean;
  /** Pieces of several calls take turns, from the name or from the first arguments on. */
  readonly mixesCalls: 'not' | 'from arguments' | 'from names';
  readonly pieceChars: number;
  /** `usage: null` in every chunk. */
  readonly namesUsage: boolean;
  readonly frame: Framing;
  /** Empty for none. */
  readonly contentType: string;
  readonly isClosing: boolean;
}

/** How events are written. */
export interface Framing {
  readonly lineEnd: '\n' | '\r\n';
  /** Behind `data:`. */
  readonly blank: ' ' | '';
  /** Share of events before which a comment stands. */
  readonly comments: number;
}

const EVENT_STREAM = 'text/event-stream';
/** Some engines label their streams as JSON, or not at all. */
const CONTENT_TYPES = [
  EVENT_STREAM,
  EVENT_STREAM,
  `${EVENT_STREAM}; charset=utf-8`,
  'application/json',
  '',
] as const;
const REASONING_FIELDS: readonly (readonly string[])[] = [
  ['reasoning_content'],
  ['reasoning'],
  ['reasoning_content', 'reasoning'],
];

export function mannerOf(draws: Draws): Manner {
  return {
    role: draws.pick(['alone', 'alone', 'with content', 'none']),
    reasoningFields: draws.pick(REASONING_FIELDS),
    noReason: null,
    endsTogether: draws.happens(0.2),
    mixesCalls: draws.pick(['not', 'not', 'not', 'from arguments']),
    pieceChars: draws.pick([3, 8, 30, 10_000]),
    namesUsage: draws.happens(0.3),
    frame: {
      lineEnd: draws.pick(['\n', '\n', '\r\n']),
      blank: draws.pick([' ', ' ', ' ', '']),
      comments: draws.pick([0, 0, 0.1, 0.5]),
    },
    contentType: draws.pick(CONTENT_TYPES),
    isClosing: draws.happens(0.1),
  };
}

/** Writes an event, at times with a comment before it or in it. */
export function framed(data: string, { lineEnd, blank, comments }: Framing, draws: Draws): string {
  const lines = [`data:${blank}${data}`];
  if (draws.happens(comments)) lines.unshift(': still here', ...(draws.happens(0.5) ? [''] : []));
  return [...lines, '', ''].join(lineEnd);
}

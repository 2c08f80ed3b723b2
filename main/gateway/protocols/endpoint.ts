import type { ByteBuffer } from '../../platform/byte-buffer.ts';
import type { HttpError } from '../../platform/http/responses.ts';
import type { ItemSource, KeptItem } from './responses/history.ts';
import type { ProtocolTranslation, Untranslatable } from './translation/translation.ts';
import { isObjectText, isText, JsonScan, type Member, type Span } from './json-edit.ts';
import type { Assembly } from './assembly.ts';
import type { Substance } from './chat/content.ts';
import type { StreamWatch } from './stream-inspector.ts';

export interface BadRequest {
  readonly message: string;
  readonly param: string | null;
}

/**
 * An endpoint that is routed to upstreams; `protocols/` has one object for each. Common to all are `model`, `stream`,
 * server-sent events and the fallback sequence.
 */
export interface ApiEndpoint {
  /** Paths on the gateway (docs/reference/http-api.md#endpoints). */
  readonly paths: readonly string[];
  /** Path at an upstream, behind the API version. */
  readonly upstreamPath: string;
  readonly body: 'json' | 'multipart';
  /** Checks the fields that only this endpoint has; null when they are valid. */
  readonly checkBody: (bytes: Buffer, members: readonly Member[]) => BadRequest | null;
  readonly asks: (bytes: Buffer, members: readonly Member[]) => AnswerRequirements;
  readonly answer: AnswerFormat;
  /** Whether another upstream may continue a stream that breaks. */
  readonly isResumable: boolean;
  /** The model that was asked for is never replaced: vectors of two models cannot be compared. */
  readonly keepsModel: boolean;
  /**
   * `required`: an upstream without it is misconfigured. `optional`: it is passed over. `translatable`: the same, unless
   * chat completions can stand in for it.
   */
  readonly support: 'required' | 'optional' | 'translatable';
  /** Makes a chat completion of a request, and of its answer the endpoint's own. */
  readonly translation?: ProtocolTranslation;
  /**
   * The body for an upstream that speaks the protocol itself, without what translation put into earlier answers. An
   * engine of one's own (`isLocal`) checks no signatures and keeps the thoughts.
   */
  readonly withoutOwn?: (
    bytes: Buffer,
    facts: { readonly items: ItemSource | null; readonly isLocal: boolean },
  ) => Buffer;
  /** The items of a whole answer, or of the last event of a stream, to which later requests may refer. */
  readonly itemsOf?: (answer: unknown) => readonly KeptItem[];
  /** Answers in place of upstreams that lack the endpoint. */
  readonly estimate?: (body: unknown) => StandIn;
  /** Whose header carries the key: OpenAI's `Authorization` or Anthropic's `x-api-key`. */
  readonly vendor: 'openai' | 'anthropic';
}

/** The gateway's own answer, or why it cannot give one. */
export type StandIn = { readonly kind: 'answer'; readonly body: object } | Untranslatable;

export interface AnswerRequirements {
  readonly choices: number;
  /** Whether a whole answer can be built from a stream. A function, because it may take another look at the body. */
  readonly isAssemblable: () => boolean;
  /** Whether the last message is a tool's result, to which a model may have nothing to add. */
  readonly followsToolResult: () => boolean;
  /** Puts a whole answer into the form that was asked for, as not every engine does. */
  readonly asAsked?: (answer: Buffer) => Buffer;
}

/** How answers with content are distinguished from errors and from answers without content. */
export interface AnswerFormat {
  /** Judges a whole JSON answer of any size as it arrives, without parsing it. */
  readonly createScan: () => AnswerScan;
  /**
   * Puts right in a whole answer what clients stumble over; the same bytes if nothing was wrong. `value` is the body
   * parsed; undefined if nobody has.
   */
  readonly repaired?: (body: Buffer, value: unknown) => Buffer;
  /** Null if the endpoint has no streams. */
  readonly stream: StreamFormat | null;
  /** Bodies that are not JSON are answers too: audio, subtitles. Their first byte is content. */
  readonly takesBytes: boolean;
}

export interface StreamFormat {
  readonly judge: (value: unknown) => Substance;
  /** Finds the end and the errors of a stream with this many choices. */
  readonly createWatch: (choices: number) => StreamWatch;
  readonly createAssembly: () => Assembly;
  /** It reports its usage only if `stream_options` asks for it. */
  readonly asksForUsage: boolean;
  /** A whole answer as a stream; null if it cannot be one. */
  readonly asEvents: ((answer: Buffer, includeUsage: boolean) => string) | null;
  /**
   * The `n`-th sign of life, from 0 on, before the first event of an answer. Clients skip it, and it keeps their
   * connection open.
   */
  readonly sign: (n: number, answer: { readonly id: string; readonly model: string }) => string;
  /** Makes the events of an answer follow such signs; left out if they do as they are. */
  readonly afterSigns?: (events: Buffer, id: string) => Buffer;
  /** The event that ends a stream that broke off. */
  readonly errorEvent: (error: HttpError) => string;
  /** Limit of the events held back before the first content. */
  readonly maxHeldBytes: number;
}

export const pathsOf = (path: string): readonly string[] => [`/api/v1${path}`, `/v1${path}`];

/** For an endpoint with one choice and no way to build its answer from a stream. */
export const ONE_WHOLE: AnswerRequirements = {
  choices: 1,
  isAssemblable: () => false,
  followsToolResult: () => false,
};

/** Common to the endpoints other than chat that have no streams. */
export const WITHOUT_STREAMS = {
  asks: () => ONE_WHOLE,
  isResumable: false,
  // The model that an upstream is configured with is a chat model.
  keepsModel: true,
  support: 'optional',
  vendor: 'openai',
} as const satisfies Partial<ApiEndpoint>;

type CheckBody = ApiEndpoint['checkBody'];

type Kind = 'list' | 'text' | 'text or list';

/** Whether a member has a value of that kind, which is not empty, and what that is called. */
const KINDS: Readonly<
  Record<Kind, readonly [is: (bytes: Buffer, member: Member) => boolean, name: string]>
> = {
  list: [(_bytes, { last }) => last !== null, 'a non-empty array'],
  // More than its two quotes.
  text: [(bytes, at) => isText(bytes, at) && at.end - at.start > 2, 'a non-empty string'],
  'text or list': [
    (bytes, at) => at.last !== null || isText(bytes, at),
    'a string or a non-empty array',
  ],
};

/** The first problem counts. */
export function requires(wanted: Readonly<Record<string, Kind>>): CheckBody {
  return (bytes, members) => {
    for (const [key, kind] of Object.entries(wanted)) {
      const member = members.find((each) => each.key === key);
      const [is, name] = KINDS[kind];
      if (member === undefined || !is(bytes, member))
        return { message: `'${key}' must be ${name}.${placeFor(key, members)}`, param: key };
    }
    return null;
  };
}

/** Cursor, for one, sends bodies of responses to chat completions (Helicone/helicone#5629). */
const PLACE_OF: Readonly<Record<string, string>> = {
  messages: '/v1/chat/completions',
  input: '/v1/responses',
  prompt: '/v1/completions',
};

function placeFor(wanted: string, members: readonly Member[]): string {
  const other = members.find(({ key }) => Object.hasOwn(PLACE_OF, key));
  const isElsewhere = Object.hasOwn(PLACE_OF, wanted) && !members.some(({ key }) => key === wanted);
  return isElsewhere && other !== undefined
    ? ` A body with '${other.key}' belongs at ${PLACE_OF[other.key]}.`
    : '';
}

/** Judges a whole answer of any size while it arrives. */
export interface AnswerScan {
  /** False once the body, as far as it has come, is not JSON. */
  push(body: ByteBuffer): boolean;
  /** As `substanceOf` judges the parsed answer, its whole body; null if it is not JSON. Asked at the end. */
  substance(body: Buffer): Substance['kind'] | null;
  /** The answer, where it was small enough to be parsed for that; else undefined. */
  value?(): unknown;
}

/** Whether a value of an answer is one of its kind, of which its first character and its last element are known. */
const VALUES = {
  list: (first: string, last: Span | null) => first === '[' && last !== null,
  'any list': (first: string) => first === '[',
  text: (first: string) => first === '"',
  number: (first: string) => /\d/.test(first),
  // `null` and `false` are no errors.
  error: (first: string) => first !== 'n' && first !== 'f',
};

/**
 * Takes an object for an answer by one of its outermost members, without parsing it: an answer has one of the
 * `wanted` members, and no error.
 */
export function createMemberScan(
  wanted: Readonly<Record<string, keyof typeof VALUES>>,
): AnswerScan {
  const scan = new JsonScan();
  return {
    push: (body) => scan.push(body.view()),
    substance(body) {
      if (!scan.isWhole(body)) return null;
      if (!isObjectText(body)) return 'error';
      const has = (name: string, kind: keyof typeof VALUES) => {
        // The last of duplicate names counts, as in `JSON.parse`.
        const member = scan.members.findLast(({ key }) => key === name);
        if (member === undefined) return false;
        return VALUES[kind](String.fromCharCode(body[member.start] ?? 0), member.last);
      };
      if (has('error', 'error')) return 'error';
      return Object.entries(wanted).some(([name, kind]) => has(name, kind)) ? 'content' : 'nothing';
    },
  };
}

export const wholeAnswer = (...wanted: Parameters<typeof createMemberScan>): AnswerFormat => ({
  createScan: () => createMemberScan(...wanted),
  stream: null,
  takesBytes: false,
});

import type { HttpError } from '../../platform/http/responses.ts';
import type { ItemSource, KeptItem } from './responses/history.ts';
import type { ProtocolTranslation, TranslationResult } from './translation/translation.ts';
import { type AnswerScan, isText, type Member } from './json-edit.ts';
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
  readonly estimate?: (body: unknown) => TokenCount;
  /** Whose header carries the key: OpenAI's `Authorization` or Anthropic's `x-api-key`. */
  readonly vendor: 'openai' | 'anthropic';
}

export type TokenCount =
  | { readonly kind: 'counted'; readonly body: { readonly input_tokens: number } }
  | Exclude<TranslationResult, { readonly kind: 'chat' }>;

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
  /** Judges the parsed data of an event. */
  readonly judge: (value: unknown) => Substance;
  /** Finds the end and the errors of a stream with this many choices. */
  readonly createWatch: (choices: number) => StreamWatch;
  /** Builds a whole answer from a stream; null if it cannot be done. */
  readonly createAssembly: (() => Assembly) | null;
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

const find = (members: readonly Member[], key: string) =>
  members.find((member) => member.key === key);

export const anyBody: CheckBody = () => null;

/** The first problem that one of them finds. */
export function all(...checks: readonly CheckBody[]): CheckBody {
  return (bytes, members) => {
    for (const check of checks) {
      const problem = check(bytes, members);
      if (problem !== null) return problem;
    }
    return null;
  };
}

export function requiresList(key: string): CheckBody {
  return (_bytes, members) =>
    (find(members, key)?.last ?? null) === null
      ? missing(key, 'must be a non-empty array.', members)
      : null;
}

export function requiresText(key: string): CheckBody {
  return (bytes, members) => {
    const member = find(members, key);
    return member !== undefined && isFullText(bytes, member)
      ? null
      : missing(key, 'must be a non-empty string.', members);
  };
}

export function requiresTextOrList(key: string): CheckBody {
  return (bytes, members) => {
    const member = find(members, key);
    const isGiven = member !== undefined && (member.last !== null || isText(bytes, member));
    return isGiven ? null : missing(key, 'must be a string or a non-empty array.', members);
  };
}

/** More than its two quotes. */
function isFullText(bytes: Buffer, member: Member): boolean {
  return isText(bytes, member) && member.end - member.start > 2;
}

/** Cursor, for one, sends bodies of responses to chat completions (Helicone/helicone#5629). */
const PLACE_OF: Readonly<Record<string, string>> = {
  messages: '/v1/chat/completions',
  input: '/v1/responses',
  prompt: '/v1/completions',
};

function missing(key: string, rule: string, members: readonly Member[]): BadRequest {
  const other = members.find((member) => member.key !== key && Object.hasOwn(PLACE_OF, member.key));
  const isElsewhere = Object.hasOwn(PLACE_OF, key) && find(members, key) === undefined;
  const place =
    isElsewhere && other !== undefined
      ? ` A body with '${other.key}' belongs at ${PLACE_OF[other.key]}.`
      : '';
  return { message: `'${key}' ${rule}${place}`, param: key };
}

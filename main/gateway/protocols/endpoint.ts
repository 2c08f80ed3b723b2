import type { ByteBuffer } from '../../platform/byte-buffer.ts';
import {
  isHeavyJson,
  isObject,
  parseExactJson,
  parseJson,
  writeJson,
} from '../../platform/json.ts';
import type { HttpError } from '../../platform/http/responses.ts';
import type { ItemSource, KeptItem } from './responses/item-memory.ts';
import type { ProtocolTranslation, Untranslatable } from './translation/translation.ts';
import { hasMember, type JsonBody, JsonScan, type MemberKind } from './json-edit.ts';
import type { Assembly } from './assembly.ts';
import type { Substance } from './chat/chunks.ts';
import { DONE_EVENT, MAX_EVENT_BYTES } from './sse.ts';
import type { StreamWatch } from './stream-inspector.ts';

type Json = Readonly<Record<string, unknown>>;

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
  /** What its bodies must have beside what all endpoints do. */
  readonly required: Readonly<Record<string, 'list' | 'text' | 'text or list'>>;
  readonly asks: (body: JsonBody) => AnswerRequirements;
  readonly answer: AnswerFormat;
  /** Whether another upstream may continue a stream that breaks. */
  readonly isResumable: boolean;
  /** The model that was asked for is never replaced: that of an upstream's settings is a chat model, and vectors of two models cannot be compared. */
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
    body: JsonBody,
    facts: { readonly items: ItemSource | null; readonly isLocal: boolean },
  ) => JsonBody;
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
  /** Whether its model may write calls of tools into the text of the answer. */
  readonly mayLeakCalls: () => boolean;
  /** Puts a whole answer into the form that was asked for, as not every engine does. */
  readonly asAsked?: (answer: Buffer) => Buffer;
}

/** How answers with content are distinguished from errors and from answers without content. */
export interface AnswerFormat {
  /** Judges a whole JSON answer of any size as it arrives, without parsing it. */
  readonly createScan: () => AnswerScan;
  /** Puts right in a whole answer what clients stumble over; the same bytes if nothing was wrong. */
  readonly repaired?: (body: Buffer) => Buffer;
  /** Null if the endpoint has no streams. */
  readonly stream: StreamFormat | null;
  /** Bodies that are not JSON are answers too: audio, subtitles. Their first byte is content. */
  readonly takesBytes?: true;
}

export interface StreamFormat {
  readonly judge: (value: unknown) => Substance;
  /** Finds the end and the errors of a stream with this many choices. */
  readonly createWatch: (choices: number) => StreamWatch;
  readonly createAssembly: () => Assembly;
  /** It reports its usage only if `stream_options` asks for it. */
  readonly asksForUsage?: true;
  /** The chunks that say what a whole answer does; left out if it cannot be a stream. */
  readonly chunksOf?: (answer: Json, includeUsage: boolean) => readonly object[];
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

/** For an endpoint with one choice and no way to build its answer from a stream. */
export const ONE_WHOLE: AnswerRequirements = {
  choices: 1,
  isAssemblable: () => false,
  followsToolResult: () => false,
  mayLeakCalls: () => false,
};

/** Longer answers are passed on as they are: to parse and write one of this size takes some milliseconds. */
const MAX_REPAIRED_BYTES = 256 * 1024;

/** Parses only answers that `isSuspect` finds something in. */
export function repairedBy(
  isSuspect: (text: string) => boolean,
  repair: (answer: Json) => object,
): NonNullable<AnswerFormat['repaired']> {
  return (body) => {
    if (body.length > MAX_REPAIRED_BYTES || !isSuspect(body.toString('latin1'))) return body;
    const answer = parseExactJson(body.toString('utf8'));
    const right = isObject(answer) ? repair(answer) : answer;
    const json = right === answer ? null : writeJson(right);
    return json === null ? body : Buffer.from(json);
  };
}

/** A whole answer that becomes one event is limited like an event. */
const MAX_CHUNK_WEIGHT = 32_768;

/** A whole answer as a stream of such chunks; null for one that is too long for an event, or nested too deep. */
export function streamOf(
  answer: Buffer,
  chunksOf: (answer: Json) => readonly object[],
): Buffer | null {
  const text = answer.toString('utf8');
  if (answer.length > MAX_EVENT_BYTES || isHeavyJson(text, MAX_CHUNK_WEIGHT)) return null;
  const parsed = parseJson(text);
  const chunks = isObject(parsed) ? chunksOf(parsed).map(writeJson) : [];
  if (chunks.includes(null)) return null;
  return Buffer.from(chunks.map((json) => `data: ${json}\n\n`).join('') + DONE_EVENT);
}

type OwnParts = Pick<ApiEndpoint, 'answer'> & Partial<ApiEndpoint>;

/** What an endpoint does not say of itself is as at most of them. */
export const endpointAt = (path: string, own: OwnParts): ApiEndpoint => ({
  paths: [`/api/v1${path}`, `/v1${path}`],
  upstreamPath: path,
  body: 'json',
  required: {},
  asks: () => ONE_WHOLE,
  isResumable: false,
  keepsModel: false,
  support: 'optional',
  vendor: 'openai',
  ...own,
});

/** Judges a whole answer of any size while it arrives. */
export interface AnswerScan {
  /** False once the body, as far as it has come, is not JSON. */
  push(body: ByteBuffer): boolean;
  /** As `substanceOf` judges the parsed answer, its whole body; null if it is not JSON. Asked at the end. */
  substance(body: Buffer): Substance['kind'] | null;
}

/**
 * Takes an object for an answer by one of its outermost members, without parsing it: an answer has one of the
 * `wanted` members, and no error.
 */
export function createMemberScan(wanted: Readonly<Record<string, MemberKind>>): AnswerScan {
  const scan = new JsonScan();
  return {
    push: (body) => scan.push(body.view()),
    substance(bytes) {
      if (!scan.isWhole(bytes)) return null;
      if (!scan.isObject) return 'error';
      const body = { bytes, members: scan.members };
      if (hasMember(body, 'error', 'error')) return 'error';
      const isContent = Object.entries(wanted).some(([name, kind]) => hasMember(body, name, kind));
      return isContent ? 'content' : 'nothing';
    },
  };
}

export const wholeAnswer = (...wanted: Parameters<typeof createMemberScan>): AnswerFormat => ({
  createScan: () => createMemberScan(...wanted),
  stream: null,
});

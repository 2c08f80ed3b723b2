import { type AnswerScan, createAnswerScan } from './answer-scan.ts';
import { type Assembly, createAssembly } from './assembly.ts';
import { isLastChunk, type Substance, substanceOf } from './completion.ts';
import type { Member } from './json-members.ts';

/** What the caller did wrong, and in which field. */
export interface BadRequest {
  readonly message: string;
  readonly param: string | null;
}

/**
 * An endpoint of the OpenAI API that is routed to upstreams. Common to all are JSON bodies with `model` and
 * `stream`, server-sent events, and errors in the shape of `http/errors.ts`.
 */
export interface ApiEndpoint {
  /** Paths on the gateway (docs/http-api.md#routes). */
  readonly paths: readonly string[];
  /** Path at an upstream, behind the API version. */
  readonly upstreamPath: string;
  /** Checks the fields that only this endpoint has; null when they are valid. */
  readonly checkBody: (bytes: Buffer, members: readonly Member[]) => BadRequest | null;
  readonly answer: AnswerFormat;
  /** Whether another upstream may continue a stream that breaks. */
  readonly isResumable: boolean;
}

/** How answers with content are distinguished from errors and from chunks without content. */
export interface AnswerFormat {
  /** Judges a parsed chunk of a stream, or a parsed whole answer. */
  readonly judge: (value: unknown) => Substance;
  /** Whether a parsed chunk completes the answer. */
  readonly isLastChunk: (chunk: unknown) => boolean;
  /** Judges a whole answer of any size as it arrives, without parsing it. */
  readonly createScan: () => AnswerScan;
  /** Builds a whole answer from the chunks of a stream; null if the endpoint has no streams. */
  readonly createAssembly: (() => Assembly) | null;
}

export const CHAT_COMPLETIONS: ApiEndpoint = {
  paths: ['/api/v1/chat/completions', '/v1/chat/completions'],
  upstreamPath: '/chat/completions',
  checkBody: (_bytes, members) =>
    (members.find(({ key }) => key === 'messages')?.last ?? null) === null
      ? { message: "'messages' must be a non-empty array.", param: 'messages' }
      : null,
  answer: { judge: substanceOf, isLastChunk, createScan: createAnswerScan, createAssembly },
  isResumable: true,
};

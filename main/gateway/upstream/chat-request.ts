import { isUtf8 } from 'node:buffer';
import { isObject } from '#shared/objects.ts';
import { type Member, topLevelMembers, withMembers } from './json-members.ts';

/** A chat completion as the caller sent it, with what routing needs to know of it. */
export interface ChatRequest {
  readonly bytes: Buffer;
  readonly members: readonly Member[];
  readonly model: string | null;
  readonly stream: boolean;
  /** The caller asked for a usage chunk (`stream_options.include_usage`). */
  readonly includeUsage: boolean;
  /** How many choices were asked for. */
  readonly choices: number;
  /** Whether an answer to it can be put together from a stream. */
  readonly assemblable: boolean;
}

/** What the caller did wrong, and where. */
export interface BadRequest {
  readonly message: string;
  readonly param: string | null;
}

/** Reads a request body: a JSON object with a non-empty `messages` array, everything else passes. */
export function parseChatRequest(bytes: Buffer): ChatRequest | BadRequest {
  if (!isUtf8(bytes)) return bad('The body is not valid UTF-8.', null);
  let body: unknown;
  try {
    body = JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    const why = error instanceof SyntaxError ? reasonOf(error) : 'it could not be parsed';
    return bad(`The body is not valid JSON: ${why}.`, null);
  }
  if (!isObject(body)) return bad('The body must be a JSON object.', null);
  const members = topLevelMembers(bytes);
  return check(body) ?? repeatedKey(members) ?? toRequest(bytes, members, body);
}

export function isBadRequest(parsed: ChatRequest | BadRequest): parsed is BadRequest {
  return 'message' in parsed;
}

function bad(message: string, param: string | null): BadRequest {
  return { message, param };
}

/** V8 quotes the text around the error; the caller's own words need not come back to it. */
function reasonOf(error: SyntaxError): string {
  const position = / JSON at (position \d+.*)$/.exec(error.message)?.[1];
  return position === undefined ? 'it ends too early or is no JSON' : `see ${position}`;
}

function check(body: Record<string, unknown>): BadRequest | null {
  const { messages, model, stream, stream_options: options } = body;
  if (!Array.isArray(messages) || messages.length === 0) {
    return bad("'messages' must be a non-empty array.", 'messages');
  }
  if (model !== undefined && model !== null && (typeof model !== 'string' || model === '')) {
    return bad("'model' must be a non-empty string, or left out.", 'model');
  }
  if (stream !== undefined && stream !== null && typeof stream !== 'boolean') {
    return bad("'stream' must be true or false.", 'stream');
  }
  if (options !== undefined && options !== null && !isObject(options)) {
    return bad("'stream_options' must be an object.", 'stream_options');
  }
  return null;
}

/** Parsers differ in which of two equal keys they take, so the upstream might read another request. */
function repeatedKey(members: readonly Member[]): BadRequest | null {
  const seen = new Set<string>();
  for (const { key } of members) {
    if (seen.has(key)) return bad(`'${key}' appears more than once; send it once.`, key);
    seen.add(key);
  }
  return null;
}

function toRequest(
  bytes: Buffer,
  members: readonly Member[],
  body: Record<string, unknown>,
): ChatRequest {
  const { model, stream, stream_options: options, n, logprobs, audio, modalities } = body;
  return {
    bytes,
    members,
    model: typeof model === 'string' ? model : null,
    stream: stream === true,
    includeUsage: isObject(options) && options['include_usage'] === true,
    choices: typeof n === 'number' && n > 1 ? n : 1,
    assemblable:
      (n === undefined || n === null || n === 1) &&
      (logprobs === undefined || logprobs === null || logprobs === false) &&
      (audio === undefined || audio === null) &&
      (!Array.isArray(modalities) || modalities.every((kind) => kind === 'text')),
  };
}

/** The body for an upstream: the caller's bytes but for the model and, to assemble, the stream flags. */
export function bodyFor(request: ChatRequest, model: string | null, askForStream: boolean): Buffer {
  const values: Record<string, string> = {};
  if (model !== null && model !== request.model) values['model'] = JSON.stringify(model);
  if (askForStream) {
    values['stream'] = 'true';
    values['stream_options'] = '{"include_usage":true}';
  }
  if (Object.keys(values).length === 0) return request.bytes;
  return withMembers(request.bytes, request.members, values);
}

import {
  isObject,
  listOf,
  memberOf,
  parseExactJson,
  parseJson,
  writeJson,
} from '../../../platform/json.ts';
import type { HttpError } from '../../../platform/http/responses.ts';
import { errorBody } from '../../http/errors.ts';
import { countTokens } from './count-tokens.ts';
import { type ApiEndpoint, ONE_WHOLE, pathsOf, requiresList } from '../endpoint.ts';
import { ANY_LIST, createMemberScan, NUMBER } from '../json-edit.ts';
import { withoutUnsigned } from './history.ts';
import { type EventRepair, type TypedEnds, createTypedWatch, judgeTyped } from '../typed-events.ts';
import type { Assembly } from '../assembly.ts';
import { type ProtocolTranslation, anthropicError } from '../translation/translation.ts';
import { createMessageStream, wholeAnswer } from './answers.ts';
import { toChat } from './request.ts';
import { dataOf, eventWith } from '../sse.ts';

export const MESSAGES_TRANSLATION: ProtocolTranslation = {
  toChat,
  answer: wholeAnswer,
  createStream: createMessageStream,
  errorBody: anthropicError,
};

const ENDS: TypedEnds = { done: ['message_stop'], failed: ['error'] };

const COMMON = {
  body: 'json',
  checkBody: requiresList('messages'),
  keepsModel: false,
  vendor: 'anthropic',
} as const satisfies Partial<ApiEndpoint>;

export const MESSAGES: ApiEndpoint = {
  ...COMMON,
  paths: pathsOf('/messages'),
  upstreamPath: '/messages',
  asks: () => ({ ...ONE_WHOLE, isAssemblable: () => true }),
  isResumable: true,
  answer: {
    // A model that has nothing to add after a tool's result answers an empty list.
    createScan: () => createMemberScan({ content: ANY_LIST }),
    repaired: repairedMessage,
    stream: {
      judge: (value) => judgeTyped(value, ENDS, hasContent),
      createWatch: () => createTypedWatch(ENDS, createMessageRepair()),
      createAssembly: createMessageAssembly,
      asksForUsage: false,
      asEvents: null,
      sign: () => 'event: ping\ndata: {"type":"ping"}\n\n',
      errorEvent,
      maxHeldBytes: 64 * 1024,
    },
    takesBytes: false,
  },
  support: 'translatable',
  translation: MESSAGES_TRANSLATION,
  withoutOwn: withoutUnsigned,
};

export const COUNT_TOKENS: ApiEndpoint = {
  ...COMMON,
  paths: pathsOf('/messages/count_tokens'),
  upstreamPath: '/messages/count_tokens',
  asks: () => ONE_WHOLE,
  isResumable: false,
  answer: {
    createScan: () => createMemberScan({ input_tokens: NUMBER }),
    stream: null,
    takesBytes: false,
  },
  support: 'translatable',
  withoutOwn: withoutUnsigned,
  estimate: countTokens,
};

/** A block's start counts unless text or thinking is to follow; so does a stop reason without any text, but for a call. */
function hasContent(type: string, value: Readonly<Record<string, unknown>>): boolean {
  const { delta, content_block: block } = value;
  const reason = memberOf(delta, 'stop_reason');
  switch (type) {
    case 'content_block_start':
      return isObject(block) && block['type'] !== 'text' && block['type'] !== 'thinking';
    case 'content_block_delta':
      return isObject(delta) && Object.entries(delta).some(isFilled);
    case 'message_delta':
      return typeof reason === 'string' && reason !== 'tool_use';
    default:
      return false;
  }
}

function isFilled([key, value]: readonly [string, unknown]): boolean {
  return key !== 'type' && value !== '' && value !== null;
}

function errorEvent(error: HttpError): string {
  return `event: error\ndata: ${JSON.stringify(errorBody(error, 'anthropic'))}\n\n`;
}

type Json = Record<string, unknown>;

interface Block {
  readonly fields: Json;
  /** A tool's input, which comes as pieces of JSON. */
  inputJson: string;
}

/** An answer has a few dozen. */
const MAX_BLOCKS = 10_000;

/** Builds a message from its events, as Anthropic's own clients do. */
function createMessageAssembly(): Assembly {
  let message: Json | null = null;
  let hasEnded = false;
  let hasBrokenCall = false;
  const blocks = new Map<unknown, Block>();

  function add(chunk: Readonly<Json>): void {
    const { type, index, delta, content_block: block, usage } = chunk;
    if (type === 'message_start' && isObject(chunk['message'])) message = { ...chunk['message'] };
    if (type === 'content_block_start' && isObject(block) && blocks.size <= MAX_BLOCKS) {
      blocks.set(index, { fields: { ...block }, inputJson: '' });
    }
    if (type === 'content_block_delta' && isObject(delta)) merge(blocks.get(index), delta);
    if (type === 'message_delta' && message !== null) {
      if (isObject(delta)) {
        const { stop_reason: before } = message;
        Object.assign(message, delta);
        message['stop_reason'] ??= before;
      }
      // The last counts are those of the whole message.
      if (isObject(usage)) message['usage'] = { ...objectOf(message['usage']), ...usage };
    }
    if (type === 'message_stop') hasEnded = typeof message?.['stop_reason'] === 'string';
  }

  return {
    add(chunk) {
      if (isObject(chunk)) add(chunk);
    },
    finished: () => hasEnded,
    problem() {
      if (blocks.size > MAX_BLOCKS) return `an answer of over ${MAX_BLOCKS} blocks`;
      return hasBrokenCall ? 'a tool call whose input is no JSON object' : null;
    },
    result() {
      if (message === null || !hasEnded) return null;
      const whole = [...blocks.values()].map(blockOf);
      const content = whole.filter((block) => block !== null);
      // A call that the limit of tokens cut off is left out.
      hasBrokenCall = content.length < whole.length && message['stop_reason'] !== 'max_tokens';
      if (hasBrokenCall) return null;
      const text = writeJson(messageWithReason({ ...message, content }));
      return text === null ? null : Buffer.from(text);
    },
  };
}

const objectOf = (value: unknown): Readonly<Json> => (isObject(value) ? value : {});

/** Text is continued, a citation added to the list; of anything else the last value counts. */
function merge(block: Block | undefined, delta: Readonly<Json>): void {
  if (block === undefined) return;
  const { fields } = block;
  for (const [key, value] of Object.entries(delta)) {
    if (key === 'type') continue;
    if (key === 'partial_json') block.inputJson += String(value);
    else if (key === 'citation') addCitation(fields, value);
    else if (typeof value === 'string') {
      const before = fields[key];
      fields[key] = (typeof before === 'string' ? before : '') + value;
    } else fields[key] = value;
  }
}

function addCitation(fields: Json, citation: unknown): void {
  const { citations } = fields;
  if (Array.isArray(citations)) citations.push(citation);
  else fields['citations'] = [citation];
}

/** Null for a call whose input is no JSON object: clients would run its tool with whatever stands there. */
function blockOf({ fields, inputJson }: Block): Json | null {
  if (inputJson === '') return fields;
  const input = parseExactJson(inputJson);
  return isObject(input) ? { ...fields, input } : null;
}

/**
 * Puts right what clients stumble over in the events of one message: a second start, at which Anthropic's clients begin
 * anew (BerriAI/litellm#32478); a second end of a block, at which they run its tool again (BerriAI/litellm#37273); the
 * reason `end_turn` of a message that calls a tool, as `messageWithReason`; no reason where there was one before. An end without
 * any reason is vLLM's for an answer that it gave up (entrypoints/anthropic/serving.py).
 */
export function createMessageRepair(): EventRepair {
  const open = new Set<unknown>();
  let hasBegun = false;
  let hasCalls = false;
  let reason: unknown = null;

  function isRepeated({ type, index, content_block: block }: Json): boolean {
    switch (type) {
      case 'message_start': {
        const isSecond = hasBegun;
        hasBegun = true;
        return isSecond;
      }
      case 'content_block_start':
        open.add(index);
        hasCalls ||= isCall(block);
        return false;
      case 'content_block_stop':
        return !open.delete(index);
      default:
        return false;
    }
  }

  function withReason(event: Buffer, value: Json): Buffer {
    const given = memberOf(value, 'delta', 'stop_reason');
    reason = reasonOf(given ?? reason, hasCalls);
    const delta = isObject(value['delta']) ? value['delta'] : {};
    if (given === reason || reason === null) return event;
    return eventWith(event, JSON.stringify({ ...value, delta: { ...delta, stop_reason: reason } }));
  }

  return {
    words: ['message_', 'content_block_st'],
    take(event) {
      const value = parseJson(dataOf(event) ?? '');
      if (!isObject(value)) return event;
      if (isRepeated(value)) return null;
      return value['type'] === 'message_delta' ? withReason(event, value) : event;
    },
    isWhole: () => reason !== null,
  };
}

const isCall = (block: unknown): boolean => memberOf(block, 'type') === 'tool_use';

/** Clients call no tool after `end_turn`, which vLLM says where the caller named the tool (vllm-project/agentic-api#296). */
const reasonOf = (reason: unknown, hasCalls: boolean): unknown =>
  hasCalls && reason === 'end_turn' ? 'tool_use' : reason;

/** As `createMessageRepair`, for a whole message. */
export function messageWithReason(message: Json): Json {
  const { stop_reason: given, content } = message;
  const reason = reasonOf(given, listOf(content).some(isCall));
  return reason === given ? message : { ...message, stop_reason: reason };
}

/** Longer messages are passed on as they are. */
const MAX_REPAIRED_BYTES = 256 * 1024;
const SUSPECT = /"stop_reason"\s*:\s*"end_turn"/;
const CALLS = /"type"\s*:\s*"tool_use"/;

export function repairedMessage(body: Buffer): Buffer {
  if (body.length > MAX_REPAIRED_BYTES) return body;
  const text = body.toString('utf8');
  if (!SUSPECT.test(text) || !CALLS.test(text)) return body;
  const message = parseExactJson(text);
  const right = isObject(message) ? messageWithReason(message) : message;
  const json = right === message ? null : writeJson(right);
  return json === null ? body : Buffer.from(json);
}

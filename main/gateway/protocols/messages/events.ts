import {
  isObject,
  listOf,
  memberOf,
  parseExactJson,
  parseJson,
  writeJson,
} from '../../../platform/json.ts';
import type { Assembly } from '../assembly.ts';
import { dataOf, eventWith } from '../sse.ts';
import type { EventRepair } from '../typed-events.ts';

type Json = Record<string, unknown>;

/** A block of a message that broke off. */
export interface OpenBlock {
  readonly index: number;
  /** `signed`: a thought with its signature, which is over. */
  readonly kind: 'text' | 'thinking' | 'signed';
}

/** How far the blocks of a message had come when it broke off. */
export interface BegunBlocks {
  readonly next: number;
  /** Those without an end, in their order: llama.cpp ends all of them at the end of the message. */
  readonly open: readonly OpenBlock[];
}

/** An answer has a few dozen; limited because even a short block takes memory. */
export const MAX_BLOCKS = 10_000;

/** In place of a call, and of a block that chat completions have nothing like: the message cannot be continued. */
const UNREADABLE = { content: [{ type: 'unreadable' }] };

/** Reads the events of a message that broke off as the deltas of a chat completion: the way back from `answers.ts`. */
export function createBegunMessage() {
  const open = new Map<unknown, OpenBlock['kind']>();
  let next = 0;
  let hasBegun = false;

  function begin(index: unknown, block: unknown): Readonly<Json> | null {
    const type = memberOf(block, 'type');
    const isText = type === 'text' || type === 'thinking';
    if (!isText || typeof index !== 'number' || open.size >= MAX_BLOCKS) return UNREADABLE;
    open.set(index, type);
    next = Math.max(next, index + 1);
    const text = memberOf(block, type);
    return text === '' ? null : { [DELTA_FIELDS[type]]: text };
  }

  function grow(index: unknown, delta: Readonly<Json>): Readonly<Json> | null {
    switch (delta['type']) {
      case 'text_delta':
        return { content: delta['text'] };
      case 'thinking_delta':
        return { reasoning_content: delta['thinking'] };
      case 'signature_delta':
        if (open.has(index)) open.set(index, 'signed');
        return null;
      default:
        return UNREADABLE;
    }
  }

  return {
    /** Null for an event that a chat completion has nothing for; `end` for one after which no text comes. */
    read(event: Readonly<Json>): Readonly<Json> | 'end' | null {
      hasBegun = true;
      const { type, index, content_block: block, delta } = event;
      switch (type) {
        case 'message_start':
          return { role: 'assistant' };
        case 'content_block_start':
          return begin(index, block);
        case 'content_block_delta':
          return isObject(delta) ? grow(index, delta) : null;
        case 'content_block_stop':
          open.delete(index);
          return null;
        case 'message_delta':
          return typeof memberOf(delta, 'stop_reason') === 'string' ? 'end' : null;
        case 'message_stop':
          return 'end';
        default:
          return null;
      }
    },
    /** Null before the first event. */
    blocks(): BegunBlocks | null {
      if (!hasBegun) return null;
      return { next, open: [...open].map(([index, kind]) => ({ index: Number(index), kind })) };
    },
  };
}

const DELTA_FIELDS = { text: 'content', thinking: 'reasoning_content' } as const;

interface Block {
  readonly fields: Json;
  /** A tool's input, which comes as pieces of JSON. */
  inputJson: string;
}

/** A message, made of its events as Anthropic's own clients do. */
export function createMessage() {
  let message: Json | null = null;
  let hasEnded = false;
  const blocks = new Map<unknown, Block>();
  return {
    add({ type, index, delta, message: begun, content_block: block, usage }: Readonly<Json>) {
      if (type === 'message_start' && isObject(begun)) message = { ...begun };
      if (type === 'content_block_start' && isObject(block) && blocks.size <= MAX_BLOCKS)
        blocks.set(index, { fields: { ...block }, inputJson: '' });
      if (type === 'content_block_delta' && isObject(delta)) merge(blocks.get(index), delta);
      if (type === 'message_delta' && message !== null) {
        const { stop_reason: before, usage: counts } = message;
        if (isObject(delta)) Object.assign(message, delta);
        message['stop_reason'] ??= before;
        // The last counts are those of the whole message.
        if (isObject(usage)) message['usage'] = { ...(isObject(counts) && counts), ...usage };
      }
      if (type === 'message_stop') hasEnded = typeof message?.['stop_reason'] === 'string';
    },
    hasEnded: () => hasEnded,
    isTooLong: () => blocks.size > MAX_BLOCKS,
    /** Without a call that the limit of tokens cut off; null where another one is. */
    whole(): Json | null {
      const all = [...blocks.values()].map(blockOf);
      const content = all.filter((block) => block !== null);
      const isCut = message?.['stop_reason'] === 'max_tokens';
      return content.length < all.length && !isCut ? null : { ...message, content };
    },
  };
}

export function createMessageAssembly(): Assembly {
  const message = createMessage();
  let hasBrokenCall = false;
  return {
    add(chunk) {
      if (isObject(chunk)) message.add(chunk);
    },
    finished: message.hasEnded,
    problem() {
      if (message.isTooLong()) return `an answer of over ${MAX_BLOCKS} blocks`;
      return hasBrokenCall ? 'a tool call whose input is no JSON object' : null;
    },
    result() {
      if (!message.hasEnded()) return null;
      const whole = message.whole();
      hasBrokenCall = whole === null;
      return whole === null ? null : writeJson(repairedMessage(whole));
    },
  };
}

/** Text is continued, a citation added to the list; of anything else the last value counts. */
function merge(block: Block | undefined, delta: Readonly<Json>): void {
  if (block === undefined) return;
  const { fields } = block;
  for (const [key, value] of Object.entries(delta)) {
    const before = fields[key];
    if (key === 'type') continue;
    if (key === 'partial_json') block.inputJson += String(value);
    else if (key === 'citation') addCitation(fields, value);
    else if (typeof value !== 'string') fields[key] = value;
    else fields[key] = (typeof before === 'string' ? before : '') + value;
  }
}

function addCitation(fields: Json, citation: unknown): void {
  const { citations } = fields;
  if (Array.isArray(citations)) citations.push(citation);
  else fields['citations'] = [citation];
}

/** Null for a call whose input is no JSON object: clients would run its tool with whatever stands there. */
function blockOf({ fields, inputJson }: Block): Json | null {
  if (inputJson.trim() === '') return fields;
  const input = parseExactJson(inputJson);
  return isObject(input) ? { ...fields, input } : null;
}

/**
 * Puts right what clients stumble over in the events of one message: a second start, at which Anthropic's clients begin
 * again (BerriAI/litellm#32478); a second end of a block, at which they run its tool again (BerriAI/litellm#37273); the
 * reason `end_turn` of a message that calls a tool, and a missing usage, as `repairedMessage`; no reason where there was one
 * before. An end without any reason is vLLM's for an answer that it gave up (entrypoints/anthropic/serving.py).
 */
export function createMessageRepair(): EventRepair {
  const open = new Set<unknown>();
  let begun: Readonly<Json> | null = null;
  let hasCalls = false;
  let reason: unknown = null;

  function isRepeated({ type, index, content_block: block }: Json): boolean {
    switch (type) {
      case 'message_start':
        return begun !== null;
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

  function ended(value: Json): Readonly<Json> {
    const { delta } = value;
    const given = memberOf(delta, 'stop_reason');
    reason = reasonOf(given ?? reason, hasCalls);
    const output = memberOf(begun, 'usage', 'output_tokens') ?? 0;
    const counted = withUsage(value, { output_tokens: output });
    if (given === reason || reason === null) return counted;
    return { ...counted, delta: { ...(isObject(delta) && delta), stop_reason: reason } };
  }

  function right(value: Json): Readonly<Json> {
    const { type, message } = value;
    if (type === 'message_delta') return ended(value);
    if (type !== 'message_start' || !isObject(message)) return value;
    begun = withUsage(message, NO_COUNTS);
    return begun === message ? value : { ...value, message: begun };
  }

  return {
    words: ['message_', 'content_block_st'],
    take(event) {
      const value = parseJson(dataOf(event) ?? '');
      if (!isObject(value)) return event;
      if (isRepeated(value)) return null;
      const told = right(value);
      return told === value ? event : eventWith(event, JSON.stringify(told));
    },
    isWhole: () => reason !== null,
  };
}

const isCall = (block: unknown): boolean => memberOf(block, 'type') === 'tool_use';

/** Clients call no tool after `end_turn`, which vLLM says where the caller named the tool (vllm-project/agentic-api#296). */
const reasonOf = (reason: unknown, hasCalls: boolean): unknown =>
  hasCalls && reason === 'end_turn' ? 'tool_use' : reason;

/** Unknown ones are 0, as in a translated message. */
const NO_COUNTS = { input_tokens: 0, output_tokens: 0 };

/** Anthropic's clients read the counts of every message, and Claude Code crashes without (farion1231/cc-switch#1945). */
const withUsage = (holder: Readonly<Json>, counts: object): Readonly<Json> =>
  isObject(holder['usage']) ? holder : { ...holder, usage: counts };

/** As `createMessageRepair`, for a whole message. */
export function repairedMessage(message: Readonly<Json>): Readonly<Json> {
  const { stop_reason: given, content } = message;
  const reason = reasonOf(given, listOf(content).some(isCall));
  const right = reason === given ? message : { ...message, stop_reason: reason };
  return withUsage(right, NO_COUNTS);
}

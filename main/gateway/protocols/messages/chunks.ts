import { isObject, memberOf } from '../../../platform/json.ts';
import { type CallPiece, callPieceOf } from '../chat/calls.ts';
import { createTextBuilder, type TextBuilder } from '../translation/partial-calls.ts';

type Json = Readonly<Record<string, unknown>>;

/** A block of a message that broke off. */
export interface OpenBlock {
  readonly index: number;
  readonly kind: BlockKind;
}

/** `signed`: a thought with its signature, which is over. */
type BlockKind = 'text' | 'thinking' | 'signed' | 'call';

/** How far the blocks of a message had come when it broke off. */
export interface BegunBlocks {
  readonly next: number;
  /** Those without an end, in their order: llama.cpp ends all of them at the end of the message. */
  readonly open: readonly OpenBlock[];
  /** All of its calls, as far as they had come. */
  readonly calls: readonly BegunCall[];
}

/** `index`: the number of the call, as the chunks have it. */
interface BegunCall extends CallPiece {
  readonly block: number;
}

export const NO_BLOCKS: BegunBlocks = { next: 0, open: [], calls: [] };

/** Reads the events of a message as the chunks of a chat completion: the way back from `answers.ts`. */
export type MessageChunks = ReturnType<typeof createMessageChunks>;

/** An answer has a few dozen. */
const MAX_BLOCKS = 10_000;

/** In place of a block that chat completions have nothing like: no text or call can be read from it. */
const UNREADABLE = { content: [{ type: 'unreadable' }] };

const KINDS: Readonly<Record<string, Exclude<BlockKind, 'signed'>>> = {
  text: 'text',
  thinking: 'thinking',
  tool_use: 'call',
};

export function createMessageChunks() {
  const open = new Map<unknown, BlockKind>();
  const calls = new Map<unknown, BegunCall & { readonly json: TextBuilder }>();
  let next = 0;
  let hasBegun = false;
  let usage: Json = {};

  function begin(index: unknown, block: Json): Json | null {
    const kind = KINDS[String(block['type'])];
    const isTooMuch = open.size + calls.size >= MAX_BLOCKS;
    if (kind === undefined || typeof index !== 'number' || isTooMuch) return chunkOf(UNREADABLE);
    open.set(index, kind);
    next = Math.max(next, index + 1);
    const { text, thinking, id, name, input } = block;
    switch (kind) {
      case 'text':
        return text === '' ? null : chunkOf({ content: text });
      case 'thinking':
        return thinking === '' ? null : chunkOf({ reasoning_content: thinking });
      case 'call': {
        const isWhole = isObject(input) && Object.keys(input).length > 0;
        const called = { name, arguments: isWhole ? JSON.stringify(input) : '' };
        const piece = { index: calls.size, id, function: called };
        const json = createTextBuilder();
        json.add(called.arguments);
        calls.set(index, { ...callPieceOf(piece), block: index, json });
        return chunkOf({ tool_calls: [piece] });
      }
    }
  }

  function grow(index: unknown, delta: Json): Json | null {
    const { type, text, thinking, partial_json: json } = delta;
    switch (type) {
      case 'text_delta':
        return chunkOf({ content: text });
      case 'thinking_delta':
        return chunkOf({ reasoning_content: thinking });
      case 'input_json_delta': {
        const call = calls.get(index);
        if (typeof json === 'string') call?.json.add(json);
        return chunkOf({ tool_calls: [{ index: call?.index, function: { arguments: json } }] });
      }
      case 'signature_delta':
        if (open.has(index)) open.set(index, 'signed');
        return null;
      default:
        return chunkOf(UNREADABLE);
    }
  }

  function withUsage(chunk: Json, told: unknown): Json {
    if (isObject(told)) usage = { ...usage, ...told };
    return { ...chunk, usage: usageOf(usage) };
  }

  return {
    /** Null for an event that a chat completion has nothing for; `end` for the last one. */
    read(event: Json): Json | 'end' | null {
      hasBegun = true;
      const { type, index, message, content_block: block, delta } = event;
      switch (type) {
        case 'message_start':
          return withUsage(chunkOf({ role: 'assistant' }), memberOf(message, 'usage'));
        case 'content_block_start':
          return isObject(block) ? begin(index, block) : null;
        case 'content_block_delta':
          return isObject(delta) ? grow(index, delta) : null;
        case 'content_block_stop':
          open.delete(index);
          return null;
        case 'message_delta':
          return withUsage(endOf(delta), event['usage']);
        case 'message_stop':
          return 'end';
        default:
          return null;
      }
    },
    /** Null before the first event. */
    blocks(): BegunBlocks | null {
      if (!hasBegun) return null;
      const begun = [...calls.values()].map(({ json, ...call }) => ({
        ...call,
        arguments: json.text(),
      }));
      return { next, open: blocksOf(open), calls: begun };
    },
  };
}

function blocksOf(open: ReadonlyMap<unknown, BlockKind>): readonly OpenBlock[] {
  return [...open].map(([index, kind]) => ({ index: Number(index), kind }));
}

function chunkOf(delta: Json, finish: string | null = null): Json {
  return { choices: [{ index: 0, delta, finish_reason: finish }] };
}

const FINISHES: ReadonlyMap<unknown, string> = new Map([
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_use', 'tool_calls'],
  ['refusal', 'content_filter'],
]);

function endOf(delta: unknown): Json {
  const reason = memberOf(delta, 'stop_reason');
  if (typeof reason !== 'string') return chunkOf({});
  // The turn goes on with a tool that its provider runs.
  if (reason === 'pause_turn') return chunkOf(UNREADABLE);
  const finish_reason = FINISHES.get(reason) ?? 'stop';
  const stop_reason = memberOf(delta, 'stop_sequence') ?? null;
  return { choices: [{ index: 0, delta: {}, finish_reason, stop_reason }] };
}

/** The two counts come in two events. */
function usageOf(usage: Json): Json {
  const count = (name: string) => (typeof usage[name] === 'number' ? usage[name] : 0);
  const cached = count('cache_read_input_tokens');
  // Anthropic counts cached tokens separately.
  const prompt_tokens = count('input_tokens') + cached + count('cache_creation_input_tokens');
  const completion_tokens = count('output_tokens');
  return {
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    prompt_tokens_details: { cached_tokens: cached },
  };
}

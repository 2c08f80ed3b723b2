import { isObject, memberOf } from '../../../platform/json.ts';

type Json = Readonly<Record<string, unknown>>;

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

/** Reads the events of a message that broke off as the deltas of a chat completion: the way back from `answers.ts`. */
export type BegunMessage = ReturnType<typeof createBegunMessage>;

/** An answer has a few dozen; limited because even a short block takes memory. */
export const MAX_BLOCKS = 10_000;

/** In place of a call, and of a block that chat completions have nothing like: the message cannot be continued. */
const UNREADABLE = { content: [{ type: 'unreadable' }] };

export function createBegunMessage() {
  const open = new Map<unknown, OpenBlock['kind']>();
  let next = 0;
  let hasBegun = false;

  function begin(index: unknown, block: unknown): Json | null {
    const type = memberOf(block, 'type');
    const isText = type === 'text' || type === 'thinking';
    if (!isText || typeof index !== 'number' || open.size >= MAX_BLOCKS) return UNREADABLE;
    open.set(index, type);
    next = Math.max(next, index + 1);
    const text = memberOf(block, type);
    return text === '' ? null : { [DELTA_FIELDS[type]]: text };
  }

  function grow(index: unknown, delta: Json): Json | null {
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
    read(event: Json): Json | 'end' | null {
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

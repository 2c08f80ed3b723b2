import type { CallPiece } from '../chat/calls.ts';
import type { AnswerDelta } from '../translation/chat-answer.ts';
import {
  argumentsObject,
  createPartialCalls,
  isWholeCall,
  type PartialCall,
} from '../translation/partial-calls.ts';
import type { BegunBlocks, OpenBlock } from './chunks.ts';
import { type Block, SIGNATURE, textBlock, thinkingBlock, toolUseBlock } from './message.ts';

/** A step of an answer. */
export type BlockEvent = { readonly index: number } & (
  | { readonly type: 'content_block_start'; readonly content_block: Block }
  | { readonly type: 'content_block_delta'; readonly delta: BlockDelta }
  | { readonly type: 'content_block_stop' }
);

type BlockDelta =
  | { readonly type: 'text_delta'; readonly text: string }
  | { readonly type: 'thinking_delta'; readonly thinking: string }
  | { readonly type: 'signature_delta'; readonly signature: string }
  | { readonly type: 'input_json_delta'; readonly partial_json: string };

type Open =
  { readonly kind: 'text' | 'thinking' } | { readonly kind: 'call'; readonly call: PartialCall };

/** More than any real answer has; limited because even a short one takes memory. */
const MAX_BLOCKS = 10_000;

const TOO_MANY = `The upstream's answer has over ${MAX_BLOCKS} parts.`;
const NO_ARGUMENTS = 'The upstream called a tool with arguments that are not a JSON object.';

/**
 * Sends an answer as blocks, one after the other, as the protocol requires. If an upstream mixes the pieces of several
 * calls, those of the first are sent as they arrive and the others at the end.
 */
export class MessageBlocks {
  readonly #emit: (event: BlockEvent) => void;
  /** Blocks of a begun message that are not continued. */
  readonly #unended: readonly OpenBlock[];
  readonly #calls;
  /** Calls that began while the open one was incomplete. */
  readonly #waiting = new Set<PartialCall>();
  #open: Open | null;
  #index: number;
  #hasRefusal = false;
  #problem: string | null = null;

  /** @param begun the blocks of a message to be continued */
  constructor(exchangeId: string, emit: (event: BlockEvent) => void, begun: BegunBlocks) {
    const last = begun.open.at(-1);
    const isGoingOn = last?.index === begun.next - 1 && last.kind !== 'signed';
    this.#emit = emit;
    this.#calls = createPartialCalls(exchangeId);
    this.#unended = isGoingOn ? begun.open.slice(0, -1) : begun.open;
    this.#open = isGoingOn && last.kind !== 'call' ? { kind: last.kind } : null;
    this.#index = isGoingOn ? last.index : begun.next;
    for (const { block, ...piece } of begun.calls) {
      const added = this.#calls.add(piece);
      if (added.kind === 'problem') this.#problem = added.problem;
      else if (isGoingOn && block === last.index) this.#open = { kind: 'call', call: added.call };
      else added.call.isClosed = true;
    }
  }

  /** Ends the blocks of a begun message before the last one. */
  endOthers(): void {
    for (const { index, kind } of this.#unended) this.#end(index, kind);
  }

  /** The reason to fail the answer; null if there is none. */
  problem(): string | null {
    return this.#problem;
  }

  hasCalls(): boolean {
    return this.#calls.size > 0;
  }

  hasUnfinishedCall(): boolean {
    return this.#calls.hasUnfinished();
  }

  hasRefusal(): boolean {
    return this.#hasRefusal;
  }

  add(delta: AnswerDelta): void {
    if (this.#problem !== null) return;
    switch (delta.kind) {
      case 'reasoning':
        this.#begin('thinking', thinkingBlock('', ''));
        return this.#delta({ type: 'thinking_delta', thinking: delta.text });
      case 'refusal':
        this.#hasRefusal = true;
        return this.#addText(delta.text);
      case 'text':
        return this.#addText(delta.text);
      case 'call':
        return this.#addCall(delta.call);
      // Anthropic's citations contain the cited text, which those of chat completions do not.
      case 'citation':
        return;
    }
  }

  /** Ends the open block and sends the waiting ones. @param isCut the answer ended at its token limit */
  finish(isCut: boolean): void {
    this.#close(isCut);
    for (const call of this.#waiting) {
      const json = call.arguments.text();
      if (argumentsObject(json) === undefined && isCut) continue;
      this.#beginCall(call);
      if (json !== '') this.#delta({ type: 'input_json_delta', partial_json: json });
      this.#close(isCut);
    }
    this.#waiting.clear();
  }

  #addText(text: string): void {
    this.#begin('text', textBlock(''));
    this.#delta({ type: 'text_delta', text });
  }

  #addCall(delta: CallPiece): void {
    const piece = this.#calls.add(delta);
    if (piece.kind === 'problem') {
      this.#problem = piece.problem;
      return;
    }
    const { call, isNew, added } = piece;
    if (isNew) this.#beginOrQueue(call);
    if (added === '' || this.#waiting.has(call)) return;
    this.#delta({ type: 'input_json_delta', partial_json: added });
  }

  /** Once a call waits, the open one is not parsed again until the end: the cost would be quadratic. */
  #beginOrQueue(call: PartialCall): void {
    if (this.#calls.size > MAX_BLOCKS) this.#problem = TOO_MANY;
    const open = this.#open;
    const isBehind = this.#waiting.size > 0 || (open?.kind === 'call' && !isWholeCall(open.call));
    if (isBehind) this.#waiting.add(call);
    else this.#beginCall(call);
  }

  #beginCall(call: PartialCall): void {
    this.#close(false);
    this.#open = { kind: 'call', call };
    this.#start(toolUseBlock(call.id, call.name, {}));
  }

  #begin(kind: 'text' | 'thinking', block: Block): void {
    if (this.#open?.kind === kind) return;
    this.#close(false);
    this.#open = { kind };
    this.#start(block);
  }

  #start(content_block: Block): void {
    if (this.#index >= MAX_BLOCKS) this.#problem = TOO_MANY;
    this.#emit({ type: 'content_block_start', index: this.#index, content_block });
  }

  #delta(delta: BlockDelta): void {
    this.#emit({ type: 'content_block_delta', index: this.#index, delta });
  }

  #close(isCut: boolean): void {
    const open = this.#open;
    if (open === null) return;
    this.#open = null;
    if (open.kind === 'call') {
      open.call.isClosed = true;
      const isWhole = argumentsObject(open.call.arguments.text()) !== undefined;
      if (!isWhole && !isCut) this.#problem = NO_ARGUMENTS;
    }
    this.#end(this.#index, open.kind);
    this.#index += 1;
  }

  #end(index: number, kind: OpenBlock['kind']): void {
    const delta = { type: 'signature_delta', signature: SIGNATURE } as const;
    if (kind === 'thinking') this.#emit({ type: 'content_block_delta', index, delta });
    this.#emit({ type: 'content_block_stop', index });
  }
}

/** Assembles the blocks of a whole answer from their events, of which a whole answer has few. */
export class CollectedBlocks {
  readonly #blocks: Block[] = [];
  #open: Block | null = null;
  #json = '';

  add(event: BlockEvent): void {
    switch (event.type) {
      case 'content_block_start':
        this.#open = event.content_block;
        this.#json = '';
        return;
      case 'content_block_delta':
        this.#open = this.#grown(this.#open, event.delta);
        return;
      case 'content_block_stop':
        this.#close();
    }
  }

  blocks(): readonly Block[] {
    return this.#blocks;
  }

  #grown(open: Block | null, delta: (BlockEvent & { type: 'content_block_delta' })['delta']) {
    if (delta.type === 'input_json_delta') this.#json += delta.partial_json;
    if (open?.type === 'text' && delta.type === 'text_delta') {
      return textBlock(open.text + delta.text);
    }
    if (open?.type !== 'thinking') return open;
    if (delta.type === 'thinking_delta') {
      return thinkingBlock(open.thinking + delta.thinking, open.signature);
    }
    return delta.type === 'signature_delta' ? thinkingBlock(open.thinking, delta.signature) : open;
  }

  #close(): void {
    const open = this.#open;
    if (open?.type === 'tool_use') {
      const input = argumentsObject(this.#json);
      // A call that was cut off at the token limit cannot be made.
      if (input !== undefined) this.#blocks.push({ ...open, input });
    } else if (open !== null) {
      this.#blocks.push(open);
    }
    this.#open = null;
  }
}

import { argumentsObject } from '../translation/partial-calls.ts';
import type { BlockEvent } from './blocks.ts';
import { type Block, textBlock, thinkingBlock } from './message.ts';

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

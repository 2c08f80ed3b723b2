import type { Finish } from '../chat/content.ts';
import { type Stop, type Usage, type AnswerDelta } from '../translation/chat-answer.ts';
import {
  createTranslatedStream,
  type StreamSteps,
  wholeBySteps,
} from '../translation/translated-stream.ts';
import {
  type TranslatedExchange,
  type TranslatedStream,
  type WholeAnswer,
  anthropicError,
  NO_FINISH,
} from '../translation/translation.ts';
import { type BegunBlocks, NO_BLOCKS, type OpenBlock } from './begun.ts';
import type { CallPiece } from '../chat/calls.ts';
import {
  argumentsObject,
  createPartialCalls,
  isWholeCall,
  type PartialCall,
} from '../translation/partial-calls.ts';
import { listOf, memberOf } from '../../../platform/json.ts';

export function wholeAnswer(completion: unknown, exchange: TranslatedExchange): WholeAnswer {
  const collected = new CollectedMessage();
  const steps = messageSteps(exchange, (event) => collected.add(event), null);
  return wholeBySteps(completion, steps, () => collected.message());
}

/** @param begun the blocks of a message that broke off, of which this is the rest */
export function createMessageStream(
  exchange: TranslatedExchange,
  begun: BegunBlocks | null = null,
): TranslatedStream {
  return createTranslatedStream((emit) => messageSteps(exchange, emit, begun));
}

function messageSteps(
  exchange: TranslatedExchange,
  emit: (event: MessageEvent) => void,
  begun: BegunBlocks | null,
): StreamSteps {
  let hasSent = false;
  let model: string | null = null;
  let finish: Finish | null = null;
  let stop: Stop | null = null;
  let usage: Usage | null = null;
  const send = (event: MessageEvent) => {
    hasSent = true;
    emit(event);
  };
  const blocks = new MessageBlocks(exchange.id, send, begun ?? NO_BLOCKS);
  return {
    note(part) {
      hasSent = false;
      // The first part's model is in the first event.
      model ??= part.model;
      finish = part.finish ?? finish;
      stop = part.stop ?? stop;
      usage = part.usage ?? usage;
    },
    begin() {
      if (begun !== null) blocks.endOthers();
      else {
        const message = messageObject(exchange, model ?? exchange.model, usage);
        send({ type: 'message_start', message });
      }
    },
    add({ deltas }) {
      for (const delta of deltas) blocks.add(delta);
      // Nothing has been sent yet of a call that waits for its turn; the ping shows that the answer continues.
      if (!hasSent && deltas.length > 0) send({ type: 'ping' });
      return blocks.problem();
    },
    finish() {
      if (finish === null) return NO_FINISH;
      const { request } = exchange;
      blocks.finish(finish === 'length');
      const problem = blocks.problem();
      if (problem !== null) return problem;
      const said = { hasCalls: blocks.hasCalls(), hasRefusal: blocks.hasRefusal(), stop };
      const delta = endingOf(finish, said, request);
      send({ type: 'message_delta', delta, usage: usageObject(usage) });
      send({ type: 'message_stop' });
      return null;
    },
    fail: (error) => emit(anthropicError(error)),
  };
}

type MessageEvent =
  | BlockEvent
  | { readonly type: 'message_start'; readonly message: ReturnType<typeof messageObject> }
  | { readonly type: 'message_delta'; readonly delta: Ending; readonly usage: object }
  | { readonly type: 'message_stop' | 'ping' }
  | ReturnType<typeof anthropicError>;

type BlockEvent = { readonly index: number } & (
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
class MessageBlocks {
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

  constructor(exchangeId: string, emit: (event: BlockEvent) => void, begun: BegunBlocks) {
    const last = begun.open.at(-1);
    const isGoingOn = last?.index === begun.next - 1 && last.kind !== 'signed';
    this.#emit = emit;
    this.#calls = createPartialCalls(exchangeId);
    this.#unended = isGoingOn ? begun.open.slice(0, -1) : begun.open;
    this.#open = isGoingOn ? { kind: last.kind } : null;
    this.#index = isGoingOn ? last.index : begun.next;
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

  #end(index: number, kind: OpenBlock['kind'] | 'call'): void {
    const delta = { type: 'signature_delta', signature: SIGNATURE } as const;
    if (kind === 'thinking') this.#emit({ type: 'content_block_delta', index, delta });
    this.#emit({ type: 'content_block_stop', index });
  }
}

/** Assembles a whole answer from its events, of which it has few. */
class CollectedMessage {
  readonly #blocks: Block[] = [];
  #open: Block | null = null;
  #json = '';
  #message: ReturnType<typeof messageObject> | null = null;

  add(event: MessageEvent): void {
    switch (event.type) {
      case 'message_start':
        this.#message = event.message;
        return;
      case 'content_block_start':
        this.#open = event.content_block;
        this.#json = '';
        return;
      case 'content_block_delta':
        this.#open = this.#grown(this.#open, event.delta);
        return;
      case 'content_block_stop':
        this.#close();
        return;
      case 'message_delta': {
        const { delta, usage } = event;
        if (this.#message === null) return;
        this.#message = { ...this.#message, ...delta, usage: { ...this.#message.usage, ...usage } };
        return;
      }
      default:
    }
  }

  message(): object {
    return { ...this.#message, content: this.#blocks };
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

interface Ending {
  readonly stop_reason: string;
  readonly stop_sequence: string | null;
  readonly stop_details: null;
  readonly container: null;
}

interface AnswerSummary {
  readonly hasCalls: boolean;
  readonly hasRefusal: boolean;
  readonly stop: Stop | null;
}

/** @param request the caller's: an engine also stops at sequences of its own, which are the end of a turn */
function endingOf(finish: Finish, said: AnswerSummary, request: unknown): Ending {
  const stop = askedStop(said.stop, listOf(memberOf(request, 'stop_sequences')));
  const stop_reason = stopReason(finish, { ...said, stop });
  return {
    stop_reason,
    stop_sequence: stop_reason === 'stop_sequence' && stop?.kind === 'named' ? stop.sequence : null,
    stop_details: null,
    container: null,
  };
}

function askedStop(stop: Stop | null, asked: readonly unknown[]): Stop | null {
  if (stop?.kind === 'named') return asked.includes(stop.sequence) ? stop : null;
  const [only] = asked;
  if (stop === null || only === undefined) return null;
  const isOnly = asked.length === 1 && typeof only === 'string';
  return isOnly ? { kind: 'named', sequence: only } : stop;
}

function stopReason(finish: Finish, { hasCalls, hasRefusal, stop }: AnswerSummary): string {
  if (finish === 'length') return 'max_tokens';
  if (finish === 'content_filter' || hasRefusal) return 'refusal';
  // Some engines end an answer with calls like any other answer.
  if (hasCalls) return 'tool_use';
  return stop === null ? 'end_turn' : 'stop_sequence';
}

/** The counts of a whole answer; the protocol requires numbers, so unknown ones are 0. */
function usageObject(usage: Usage | null): object {
  const thinking_tokens = usage?.reasoning ?? null;
  return {
    // Anthropic counts cached tokens separately.
    input_tokens: Math.max(0, (usage?.input ?? 0) - (usage?.cached ?? 0)),
    output_tokens: usage?.output ?? 0,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: usage?.cached ?? 0,
    output_tokens_details: thinking_tokens === null ? null : { thinking_tokens },
    server_tool_use: null,
  };
}

const NO_ENDING = { stop_reason: null, stop_sequence: null, stop_details: null, container: null };

/** The message with which a stream begins, and to which its events add. */
function messageObject({ id }: TranslatedExchange, model: string, usage: Usage | null) {
  return {
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    ...(NO_ENDING as Ending | typeof NO_ENDING),
    diagnostics: null,
    usage: {
      ...usageObject(usage),
      cache_creation: null,
      inference_geo: null,
      service_tier: 'standard',
      speed: null,
    },
  };
}

/** Clients send a thinking block back only if it has a signature. Nothing here checks it. */
export const SIGNATURE = 'unsigned';

export type Block =
  | { readonly type: 'text'; readonly text: string; readonly citations: null }
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | {
      readonly type: 'tool_use';
      readonly id: string;
      readonly name: string;
      readonly input: object;
      readonly caller: { readonly type: 'direct' };
    };

export const textBlock = (text: string): Block => ({ type: 'text', text, citations: null });

export const thinkingBlock = (thinking: string, signature: string): Block => ({
  type: 'thinking',
  thinking,
  signature,
});

export function toolUseBlock(id: string, name: string, input: object): Block {
  return { type: 'tool_use', id, name, input, caller: { type: 'direct' } };
}

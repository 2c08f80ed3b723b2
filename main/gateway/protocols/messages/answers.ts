import type { HttpError } from '../../../platform/http/responses.ts';
import type { Finish } from '../chat/chunks.ts';
import type { AnswerDelta, AnswerState, Stop } from '../translation/chat-answer.ts';
import type { TokenCounts } from '../tokens.ts';
import type { AnswerSteps, BegunAnswer, TranslatedExchange } from '../translation/translation.ts';
import { anthropicError } from '../../http/errors.ts';
import { MAX_BLOCKS, type OpenBlock } from './events.ts';
import {
  argumentsObject,
  type CallPiece,
  createPartialCalls,
  type PartialCall,
} from '../chat/calls.ts';
import { listOf, memberOf } from '../../../platform/json.ts';

/** Clients send a thinking block back only if it has a signature. Nothing here checks it. */
export const SIGNATURE = 'unsigned';

type Open =
  { readonly kind: 'text' | 'thinking' } | { readonly kind: 'call'; readonly call: PartialCall };

const TOO_MANY = `The upstream's answer has over ${MAX_BLOCKS} parts.`;
const NO_ARGUMENTS = 'The upstream called a tool with arguments that are not a JSON object.';

/**
 * Sends an answer as blocks, one after the other, as the protocol requires. If an upstream mixes the pieces of several
 * calls, those of the first are sent as they arrive and the others at the end.
 */
export class MessageSteps implements AnswerSteps {
  readonly #answer: BegunAnswer;
  readonly #calls = createPartialCalls();
  /** Calls that began while the open one was incomplete. */
  readonly #waiting = new Set<PartialCall>();
  #open: Open | null = null;
  #index: number;
  #hasRefusal = false;

  constructor(answer: BegunAnswer) {
    this.#answer = answer;
    this.#index = answer.blocks?.next ?? 0;
  }

  begin(): void {
    const { blocks, exchange, told } = this.#answer;
    if (blocks === null) {
      this.#answer.emit({ type: 'message_start', message: messageObject(exchange, told) });
      return;
    }
    const last = blocks.open.at(-1);
    const isGoingOn = last?.index === blocks.next - 1 && last.kind !== 'signed';
    const others = isGoingOn ? blocks.open.slice(0, -1) : blocks.open;
    for (const { index, kind } of others) this.#end(index, kind);
    if (!isGoingOn) return;
    this.#open = { kind: last.kind };
    this.#index = last.index;
  }

  add(delta: AnswerDelta): void {
    switch (delta.kind) {
      case 'reasoning':
        this.#begin('thinking', { thinking: '', signature: '' });
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
    }
  }

  /** Nothing has been sent yet of a call that waits for its turn; the ping shows that the answer continues. */
  wait(): void {
    this.#answer.emit({ type: 'ping' });
  }

  /** Ends the open block and sends the waiting ones. */
  finish(finish: Finish): void {
    const isCut = finish === 'length';
    this.#close(isCut);
    for (const call of this.#waiting) {
      const json = call.arguments.text();
      if (argumentsObject(json) === undefined && isCut) continue;
      this.#beginCall(call);
      if (json !== '') this.#delta({ type: 'input_json_delta', partial_json: json });
      this.#close(isCut);
    }
    const usage = usageObject(this.#answer.told.usage);
    this.#answer.emit({ type: 'message_delta', delta: this.#ending(finish), usage });
    this.#answer.emit({ type: 'message_stop' });
  }

  fail(error: HttpError): void {
    this.#answer.emit(anthropicError(error));
  }

  #addText(text: string): void {
    this.#begin('text', { text: '', citations: null });
    this.#delta({ type: 'text_delta', text });
  }

  #addCall(delta: CallPiece): void {
    const { call, isNew, added } = this.#calls.add(delta);
    if (isNew) this.#beginOrQueue(call);
    if (added === '' || this.#waiting.has(call)) return;
    this.#delta({ type: 'input_json_delta', partial_json: added });
  }

  /** Once a call waits, so do those behind it. */
  #beginOrQueue(call: PartialCall): void {
    if (this.#calls.size > MAX_BLOCKS) this.#answer.refuse(TOO_MANY);
    const open = this.#open;
    const isOpen = open?.kind === 'call' && !open.call.progress.isWhole();
    const isBehind = this.#waiting.size > 0 || isOpen;
    if (isBehind) this.#waiting.add(call);
    else this.#beginCall(call);
  }

  #beginCall(call: PartialCall): void {
    this.#close(false);
    this.#open = { kind: 'call', call };
    const { id } = call;
    const { name } = this.#answer.exchange.functions.get(call.name) ?? call;
    this.#start({ type: 'tool_use', id, name, input: {}, caller: { type: 'direct' } });
  }

  #begin(kind: 'text' | 'thinking', fields: object): void {
    if (this.#open?.kind === kind) return;
    this.#close(false);
    this.#open = { kind };
    this.#start({ type: kind, ...fields });
  }

  #start(content_block: object): void {
    if (this.#index >= MAX_BLOCKS) this.#answer.refuse(TOO_MANY);
    this.#answer.emit({ type: 'content_block_start', index: this.#index, content_block });
  }

  #delta(delta: object): void {
    this.#answer.emit({ type: 'content_block_delta', index: this.#index, delta });
  }

  #close(isCut: boolean): void {
    const open = this.#open;
    if (open === null) return;
    this.#open = null;
    if (open.kind === 'call') {
      open.call.isClosed = true;
      const isWhole = argumentsObject(open.call.arguments.text()) !== undefined;
      if (!isWhole && !isCut) this.#answer.refuse(NO_ARGUMENTS);
    }
    this.#end(this.#index, open.kind);
    this.#index += 1;
  }

  #end(index: number, kind: OpenBlock['kind'] | 'call'): void {
    const delta = { type: 'signature_delta', signature: SIGNATURE };
    if (kind === 'thinking') this.#answer.emit({ type: 'content_block_delta', index, delta });
    this.#answer.emit({ type: 'content_block_stop', index });
  }

  #ending(finish: Finish): object {
    const { told, exchange } = this.#answer;
    const stop = askedStop(told.stop, listOf(memberOf(exchange.request, 'stop_sequences')));
    const stop_reason = this.#reason(finish, stop);
    const stop_sequence = stop_reason === 'stop_sequence' ? (stop?.sequence ?? null) : null;
    return { ...NO_ENDING, stop_reason, stop_sequence };
  }

  #reason(finish: Finish, stop: Stop | null): string {
    if (finish === 'length') return 'max_tokens';
    if (finish === 'content_filter' || this.#hasRefusal) return 'refusal';
    // Some engines end an answer with calls like any other answer.
    if (this.#calls.size > 0) return 'tool_use';
    return stop === null ? 'end_turn' : 'stop_sequence';
  }
}

const NO_ENDING = { stop_reason: null, stop_sequence: null, stop_details: null, container: null };

/** An engine also stops at sequences of its own, which are the end of a turn. */
function askedStop(stop: Stop | null, asked: readonly unknown[]): Stop | null {
  const [only] = asked;
  if (stop === null || only === undefined) return null;
  if (stop.sequence !== null) return asked.includes(stop.sequence) ? stop : null;
  return asked.length === 1 && typeof only === 'string' ? { sequence: only } : stop;
}

/** The counts of a whole answer; the protocol requires numbers, so unknown ones are 0. */
function usageObject(counts: TokenCounts | null): object {
  const { input = 0, cached = 0, output = 0, reasoning: thinking_tokens } = counts ?? {};
  return {
    // Anthropic counts cached tokens separately.
    input_tokens: Math.max(0, input - cached),
    output_tokens: output,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cached,
    output_tokens_details: thinking_tokens === undefined ? null : { thinking_tokens },
    server_tool_use: null,
  };
}

/** The message with which a stream begins, and to which its events add. */
function messageObject(exchange: TranslatedExchange, { model, usage }: AnswerState): object {
  return {
    id: `msg_${exchange.id}`,
    type: 'message',
    role: 'assistant',
    model: model ?? exchange.model,
    content: [],
    ...NO_ENDING,
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

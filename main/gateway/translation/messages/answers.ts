import type { HttpError } from '../../../platform/http/responses.ts';
import { type AnswerPart, type Finish, readChatAnswer, type Usage } from '../chat-answer.ts';
import { anthropicError, badResponse, NO_FINISH } from '../errors.ts';
import { eventText, type StreamEvent } from '../events.ts';
import type { Exchange, TranslatedStream, WholeAnswer } from '../translation.ts';
import { type BlockEvent, MessageBlocks } from './blocks.ts';
import { CollectedBlocks } from './collected-blocks.ts';
import { type Block, type Ending, endingOf, messageObject, usageObject } from './message.ts';

/** An answer that is being put together. */
class MessageAnswer {
  readonly blocks: MessageBlocks;
  readonly #exchange: Exchange;
  #model: string | null = null;
  #finish: Finish | null = null;
  #stopSequence: string | null = null;
  usage: Usage | null = null;

  constructor(exchange: Exchange, emit: (event: BlockEvent) => void) {
    this.#exchange = exchange;
    this.blocks = new MessageBlocks(exchange.id, emit);
  }

  /** Takes all of a part but its deltas; the first part's model is in the first event. */
  note(part: AnswerPart): void {
    this.#model ??= part.model;
    this.#finish = part.finish ?? this.#finish;
    this.#stopSequence = part.stopSequence ?? this.#stopSequence;
    this.usage = part.usage ?? this.usage;
  }

  /** Tells the last blocks. Null: the answer is not complete. */
  finish(): Ending | null {
    if (this.#finish === null) return null;
    this.blocks.finish(this.#finish === 'length');
    return endingOf(this.#finish, {
      hasCalls: this.blocks.hasCalls(),
      hasRefusal: this.blocks.hasRefusal(),
      stopSequence: this.#stopSequence,
    });
  }

  object(content: readonly Block[], ending: Ending | null): object {
    const model = this.#model ?? this.#exchange.model;
    return messageObject(this.#exchange, { model, content, ending, usage: this.usage });
  }
}

/** A whole chat completion as a message. */
export function wholeAnswer(completion: unknown, exchange: Exchange): WholeAnswer {
  const part = readChatAnswer(completion);
  if (part.kind === 'error') return { kind: 'bad_response', message: part.message };
  const collected = new CollectedBlocks();
  const answer = new MessageAnswer(exchange, (event) => collected.add(event));
  answer.note(part);
  for (const delta of part.deltas) answer.blocks.add(delta);
  const ending = answer.finish();
  const problem = ending === null ? NO_FINISH : answer.blocks.problem();
  if (problem !== null) return { kind: 'bad_response', message: problem };
  return { kind: 'answer', body: answer.object(collected.blocks(), ending) };
}

export function createMessageStream(exchange: Exchange): TranslatedStream {
  return new MessageStream(exchange);
}

class MessageStream implements TranslatedStream {
  readonly #answer: MessageAnswer;
  #out = '';
  #hasBegun = false;
  #ended: 'no' | 'complete' | 'failed' = 'no';

  constructor(exchange: Exchange) {
    this.#answer = new MessageAnswer(exchange, (event) => this.#emit(event));
  }

  push(chunk: unknown): string {
    if (this.#ended !== 'no') return '';
    const part = readChatAnswer(chunk);
    if (part.kind === 'error') return this.fail(badResponse(part.message));
    this.#answer.note(part);
    this.#begin();
    for (const delta of part.deltas) this.#answer.blocks.add(delta);
    const problem = this.#answer.blocks.problem();
    if (problem !== null) return this.fail(badResponse(problem));
    // Of a call that waits for its turn nothing is told yet; the caller is to know that the answer goes on.
    if (this.#out === '' && part.deltas.length > 0) this.#emit({ type: 'ping' });
    return this.#take();
  }

  end(): string {
    if (this.#ended !== 'no') return '';
    this.#begin();
    const ending = this.#answer.finish();
    const problem = ending === null ? NO_FINISH : this.#answer.blocks.problem();
    if (problem !== null) return this.fail(badResponse(problem));
    this.#ended = 'complete';
    const usage = usageObject(this.#answer.usage);
    this.#emit({ type: 'message_delta', delta: ending, usage });
    this.#emit({ type: 'message_stop' });
    return this.#take();
  }

  fail(error: HttpError): string {
    if (this.#ended !== 'no') return '';
    this.#ended = 'failed';
    this.#emit(anthropicError(error));
    return this.#take();
  }

  ended(): 'no' | 'complete' | 'failed' {
    return this.#ended;
  }

  #begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.#emit({ type: 'message_start', message: this.#answer.object([], null) });
  }

  #emit(event: StreamEvent): void {
    this.#out += eventText(event);
  }

  #take(): string {
    const text = this.#out;
    this.#out = '';
    return text;
  }
}

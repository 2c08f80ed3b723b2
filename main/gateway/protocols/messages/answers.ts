import { memberOf } from '../../../platform/json.ts';
import type { Finish } from '../chat/finish.ts';
import {
  type AnswerPart,
  finishOf,
  readChatAnswer,
  type Stop,
  type Usage,
} from '../translation/chat-answer.ts';
import {
  createTranslatedStream,
  type Emit,
  type StreamSteps,
} from '../translation/translated-stream.ts';
import {
  type TranslatedExchange,
  type TranslatedStream,
  type WholeAnswer,
  anthropicError,
  NO_FINISH,
} from '../translation/translation.ts';
import { type BlockEvent, CollectedBlocks, MessageBlocks } from './blocks.ts';
import { type BegunBlocks, NO_BLOCKS } from './chunks.ts';
import { type Block, type Ending, endingOf, messageObject, usageObject } from './message.ts';

/** An answer that is being assembled. */
class MessageAnswer {
  readonly blocks: MessageBlocks;
  readonly #exchange: TranslatedExchange;
  #model: string | null = null;
  #finish: Finish | null = null;
  #stop: Stop | null = null;
  usage: Usage | null = null;

  constructor(
    exchange: TranslatedExchange,
    emit: (event: BlockEvent) => void,
    begun: BegunBlocks = NO_BLOCKS,
  ) {
    this.#exchange = exchange;
    this.blocks = new MessageBlocks(exchange.id, emit, begun);
  }

  /** Takes everything from a part except its deltas; the first part's model is in the first event. */
  note(part: AnswerPart): void {
    this.#model ??= part.model;
    this.#finish = part.finish ?? this.#finish;
    this.#stop = part.stop ?? this.#stop;
    this.usage = part.usage ?? this.usage;
  }

  /** Sends the last blocks. Null if the answer is not complete. */
  finish(): Ending | null {
    if (this.#finish === null) return null;
    const { request } = this.#exchange;
    const finish = finishOf(this.#finish, this.usage, {
      limit: memberOf(request, 'max_tokens'),
      hasUnfinishedCall: () => this.blocks.hasUnfinishedCall(),
    });
    this.blocks.finish(finish === 'length');
    const said = {
      hasCalls: this.blocks.hasCalls(),
      hasRefusal: this.blocks.hasRefusal(),
      stop: this.#stop,
    };
    return endingOf(finish, said, request);
  }

  object(content: readonly Block[], ending: Ending | null): object {
    const model = this.#model ?? this.#exchange.model;
    return messageObject(this.#exchange, { model, content, ending, usage: this.usage });
  }
}

/** A whole chat completion as a message. */
export function wholeAnswer(completion: unknown, exchange: TranslatedExchange): WholeAnswer {
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

/** @param begun the blocks of a message that broke off, of which this is the rest */
export function createMessageStream(
  exchange: TranslatedExchange,
  begun: BegunBlocks | null = null,
): TranslatedStream {
  return createTranslatedStream((emit) => messageSteps(exchange, emit, begun));
}

function messageSteps(
  exchange: TranslatedExchange,
  emit: Emit,
  begun: BegunBlocks | null,
): StreamSteps {
  let hasSent = false;
  const send: Emit = (event) => {
    hasSent = true;
    emit(event);
  };
  const answer = new MessageAnswer(exchange, send, begun ?? undefined);
  return {
    note(part) {
      hasSent = false;
      answer.note(part);
    },
    begin() {
      if (begun === null) send({ type: 'message_start', message: answer.object([], null) });
      else answer.blocks.endOthers();
    },
    add({ deltas }) {
      for (const delta of deltas) answer.blocks.add(delta);
      // Nothing has been sent yet of a call that waits for its turn; the ping shows that the answer continues.
      if (!hasSent && deltas.length > 0) send({ type: 'ping' });
      return answer.blocks.problem();
    },
    finish() {
      const ending = answer.finish();
      const problem = ending === null ? NO_FINISH : answer.blocks.problem();
      if (problem !== null) return problem;
      send({ type: 'message_delta', delta: ending, usage: usageObject(answer.usage) });
      send({ type: 'message_stop' });
      return null;
    },
    fail: (error) => send(anthropicError(error)),
  };
}

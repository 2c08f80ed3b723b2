import type { HttpError } from '../../../platform/http/responses.ts';
import type { Finish } from '../chat/content.ts';
import type { BegunBlocks } from '../messages/events.ts';
import { type AnswerDelta, type AnswerState, readChatAnswer } from './chat-answer.ts';
import {
  badResponse,
  type ProtocolTranslation,
  type TranslatedExchange,
  type TranslatedStream,
} from './translation.ts';

/** What is different in each protocol. */
interface Protocol extends Pick<ProtocolTranslation, 'toChat' | 'errorBody'> {
  readonly stepsOf: (answer: BegunAnswer) => AnswerSteps;
  /** The answer of which these are all events. */
  readonly wholeOf: (events: readonly StreamEvent[]) => object;
}

export interface BegunAnswer {
  readonly exchange: TranslatedExchange;
  /** What the upstream has said so far; the model is that of its first part. */
  readonly told: AnswerState;
  readonly emit: (event: StreamEvent) => void;
  /** The blocks of a message that broke off, of which this is the rest. */
  readonly blocks: BegunBlocks | null;
}

/** Its name is its type, on which its fields depend. */
export interface StreamEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface AnswerSteps {
  begin(): void;
  /** Returns the reason to fail the answer, or null; so does `finish`. */
  add(deltas: readonly AnswerDelta[]): string | null;
  finish(finish: Finish): string | null;
  /** Calls `begin` first if the protocol cannot fail an answer that has not begun. */
  fail(error: HttpError, begin: () => void): void;
}

/** A whole answer is made of the same steps as a stream. */
export function createTranslation({ stepsOf, wholeOf, ...own }: Protocol): ProtocolTranslation {
  return {
    ...own,
    answer(completion, exchange) {
      const events: StreamEvent[] = [];
      const emit = (event: StreamEvent) => void events.push(event);
      const answer = begunAnswer(stepsOf, { exchange, emit, blocks: null });
      const problem = answer.add(completion) ?? answer.finish();
      return problem === null
        ? { kind: 'answer', body: wholeOf(events) }
        : { kind: 'bad_response', message: problem };
    },
    createStream(exchange, blocks) {
      let text = '';
      let ended: ReturnType<TranslatedStream['ended']> = 'no';
      const emit = (event: StreamEvent) => {
        text += `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
      };
      const answer = begunAnswer(stepsOf, { exchange, emit, blocks: blocks ?? null });
      function step(next: typeof ended, take: () => string | null): string {
        if (ended !== 'no') return '';
        const problem = take();
        if (problem !== null) return fail(badResponse(problem));
        ended = next;
        return taken();
      }
      function fail(error: HttpError): string {
        if (ended !== 'no') return '';
        ended = 'failed';
        answer.fail(error);
        return taken();
      }
      function taken(): string {
        const all = text;
        text = '';
        return all;
      }
      return {
        push: (chunk) => step('no', () => answer.add(chunk)),
        end: () => step('complete', () => answer.finish()),
        fail,
        ended: () => ended,
      };
    },
  };
}

/** `add` and `finish` return the reason to fail the answer, or null. */
function begunAnswer(stepsOf: Protocol['stepsOf'], answer: Omit<BegunAnswer, 'told'>) {
  const told = { model: null, finish: null, stop: null, usage: null } as {
    -readonly [Field in keyof AnswerState]: AnswerState[Field];
  };
  const steps = stepsOf({ ...answer, told });
  let hasBegun = false;
  function begin(): void {
    if (!hasBegun) steps.begin();
    hasBegun = true;
  }
  return {
    add(value: unknown): string | null {
      const part = readChatAnswer(value);
      if (typeof part === 'string') return part;
      told.model ??= part.model;
      told.finish = part.finish ?? told.finish;
      told.stop = part.stop ?? told.stop;
      told.usage = part.usage ?? told.usage;
      begin();
      return steps.add(part.deltas);
    },
    finish(): string | null {
      begin();
      return told.finish === null ? NO_FINISH : steps.finish(told.finish);
    },
    fail: (error: HttpError) => steps.fail(error, begin),
  };
}

const NO_FINISH = 'The upstream ended its answer without a finish reason.';

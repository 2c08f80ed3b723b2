import type { HttpError } from '../../../platform/http/responses.ts';
import { type AnswerPart, readChatAnswer } from './chat-answer.ts';
import { badResponse, type TranslatedStream, type WholeAnswer } from './translation.ts';

/** Its fields depend on its type. */
export interface StreamEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** How a protocol sends an answer, one part at a time. */
export interface StreamSteps {
  /** Takes from a part what the first events report. */
  note(part: AnswerPart): void;
  /** Sends the first events. */
  begin(): void;
  /** Returns the reason to fail the answer, or null; so does `finish`. */
  add(part: AnswerPart): string | null;
  finish(): string | null;
  /** Calls `begin` first if the protocol cannot fail an answer that has not begun. */
  fail(error: HttpError, begin: () => void): void;
}

export type Emit = (event: StreamEvent) => void;

/** A stream of events whose names are their types, as both protocols send them. */
export function createTranslatedStream(stepsOf: (emit: Emit) => StreamSteps): TranslatedStream {
  let text = '';
  let hasBegun = false;
  let ended: 'no' | 'complete' | 'failed' = 'no';
  const steps = stepsOf((event) => {
    text += `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
  });

  function begin(): void {
    if (!hasBegun) steps.begin();
    hasBegun = true;
  }

  function take(): string {
    const taken = text;
    text = '';
    return taken;
  }

  function fail(error: HttpError): string {
    if (ended !== 'no') return '';
    ended = 'failed';
    steps.fail(error, begin);
    return take();
  }

  return {
    push(chunk) {
      if (ended !== 'no') return '';
      const part = readChatAnswer(chunk);
      if (part.kind === 'error') return fail(badResponse(part.message));
      steps.note(part);
      begin();
      const problem = steps.add(part);
      return problem === null ? take() : fail(badResponse(problem));
    },
    end() {
      if (ended !== 'no') return '';
      begin();
      const problem = steps.finish();
      if (problem !== null) return fail(badResponse(problem));
      ended = 'complete';
      return take();
    },
    fail,
    ended: () => ended,
  };
}

/** A whole answer by the steps of a stream; `bodyOf` makes it of what they have sent. */
export function wholeBySteps(
  completion: unknown,
  steps: StreamSteps,
  bodyOf: () => object,
): WholeAnswer {
  const part = readChatAnswer(completion);
  if (part.kind === 'error') return { kind: 'bad_response', message: part.message };
  steps.note(part);
  steps.begin();
  const problem = steps.add(part) ?? steps.finish();
  return problem === null
    ? { kind: 'answer', body: bodyOf() }
    : { kind: 'bad_response', message: problem };
}

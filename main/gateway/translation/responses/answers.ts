import { listOf, memberOf } from '../../../platform/json.ts';
import type { HttpError } from '../../../platform/http/responses.ts';
import { type ChatAnswer, type Finish, readChatAnswer, type Usage } from '../chat-answer.ts';
import { eventText } from '../events.ts';
import { badResponse, NO_FINISH, openAiError } from '../errors.ts';
import type { Exchange, TranslatedStream, WholeAnswer } from '../translation.ts';
import { namespacedFunctions } from './namespaces.ts';
import { ResponseOutput } from './output.ts';
import { type Progress, progressOf, responseObject } from './response.ts';

/** An answer that is being put together, and what it has told of itself. */
class ResponseAnswer {
  readonly #exchange: Exchange;
  readonly #output: ResponseOutput;
  #model: string | null = null;
  #usage: Usage | null = null;
  #finish: Finish | null = null;

  constructor(exchange: Exchange, emit: (type: string, fields: object) => void) {
    this.#exchange = exchange;
    this.#output = new ResponseOutput(exchange.id, emit, {
      reasoningFields: reasoningFields(exchange.request),
      functions: namespacedFunctions(exchange.request),
    });
  }

  /** Before the deltas of the first part, whose model the first events name. */
  begin(part: ChatAnswer & { readonly kind: 'part' }): void {
    this.#model ??= part.model;
  }

  /** Returns the reason to fail the answer, or null. */
  add(part: ChatAnswer & { readonly kind: 'part' }): string | null {
    this.begin(part);
    this.#usage = part.usage ?? this.#usage;
    this.#finish = part.finish ?? this.#finish;
    for (const delta of part.deltas) this.#output.add(delta);
    return this.#output.problem();
  }

  /** Closes the items and keeps them; null without a finish reason. */
  finish(): Progress | null {
    if (this.#finish === null) return null;
    const progress = progressOf(this.#finish);
    this.#output.finish(progress.status === 'completed' ? 'completed' : 'incomplete');
    if (isKept(this.#exchange.request)) this.#exchange.items?.keep(this.#output.items());
    return progress;
  }

  object(progress: Progress): object {
    const state = {
      model: this.#model ?? this.#exchange.model,
      output: this.#output.items(),
      usage: this.#usage,
    };
    return responseObject(this.#exchange, progress, state);
  }
}

/** Only with `store`, which is the default, do clients send references in place of items. */
const isKept = (request: unknown) => memberOf(request, 'store') !== false;

/** Without `store`, clients send reasoning back only if it came with this. It is readable all the same. */
function reasoningFields(request: unknown): object {
  const isAsked = listOf(memberOf(request, 'include')).includes('reasoning.encrypted_content');
  return isAsked ? { encrypted_content: 'unencrypted' } : {};
}

export function wholeAnswer(completion: unknown, exchange: Exchange): WholeAnswer {
  const part = readChatAnswer(completion);
  if (part.kind === 'error') return { kind: 'bad_response', message: part.message };
  const answer = new ResponseAnswer(exchange, () => {});
  const problem = answer.add(part);
  if (problem !== null) return { kind: 'bad_response', message: problem };
  const progress = answer.finish();
  if (progress === null) return { kind: 'bad_response', message: NO_FINISH };
  return { kind: 'answer', body: answer.object(progress) };
}

export function createResponseStream(exchange: Exchange): TranslatedStream {
  return new ResponseStream(exchange);
}

class ResponseStream implements TranslatedStream {
  readonly #answer: ResponseAnswer;
  #sequence = 0;
  #out = '';
  #hasBegun = false;
  #ended: 'no' | 'complete' | 'failed' = 'no';

  constructor(exchange: Exchange) {
    this.#answer = new ResponseAnswer(exchange, (type, fields) => this.#emit(type, fields));
  }

  push(chunk: unknown): string {
    if (this.#ended !== 'no') return '';
    const part = readChatAnswer(chunk);
    if (part.kind === 'error') return this.fail(badResponse(part.message));
    this.#answer.begin(part);
    this.#begin();
    const problem = this.#answer.add(part);
    return problem === null ? this.#take() : this.fail(badResponse(problem));
  }

  end(): string {
    if (this.#ended !== 'no') return '';
    this.#begin();
    const progress = this.#answer.finish();
    if (progress === null) return this.fail(badResponse(NO_FINISH));
    this.#ended = 'complete';
    this.#emit(`response.${progress.status}`, { response: this.#answer.object(progress) });
    return this.#take();
  }

  fail(error: HttpError): string {
    if (this.#ended !== 'no') return '';
    this.#begin();
    this.#ended = 'failed';
    // Some clients know the one event, some the other; OpenAI sends an error flat or nested.
    const body = openAiError(error).error;
    const { message, code, param } = body;
    this.#emit('error', { message, code, param, error: body, src: 'gateway' });
    this.#emit('response.failed', { response: this.#answer.object({ status: 'failed', error }) });
    return this.#take();
  }

  ended(): 'no' | 'complete' | 'failed' {
    return this.#ended;
  }

  #begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const response = this.#answer.object({ status: 'in_progress' });
    this.#emit('response.created', { response });
    this.#emit('response.in_progress', { response });
  }

  #emit(type: string, fields: object): void {
    this.#out += eventText({ type, sequence_number: this.#sequence++, ...fields });
  }

  #take(): string {
    const text = this.#out;
    this.#out = '';
    return text;
  }
}

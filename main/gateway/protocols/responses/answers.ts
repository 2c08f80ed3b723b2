import { listOf, memberOf } from '../../../platform/json.ts';
import type { Finish } from '../chat/finish.ts';
import {
  type AnswerPart,
  finishOf,
  readChatAnswer,
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
  NO_FINISH,
  openAiError,
} from '../translation/translation.ts';
import { namespacedFunctions } from './tools.ts';
import { ResponseOutput, type OutputItem } from './output.ts';
import { NOT_ENCRYPTED } from './item-memory.ts';
import { isObject } from '#shared/objects.ts';
import type { HttpError } from '../../../platform/http/responses.ts';

/** An answer that is being assembled, and its events so far. */
class ResponseAnswer {
  readonly #exchange: TranslatedExchange;
  readonly #output: ResponseOutput;
  #model: string | null = null;
  #usage: Usage | null = null;
  #finish: Finish | null = null;

  constructor(exchange: TranslatedExchange, emit: (type: string, fields: object) => void) {
    this.#exchange = exchange;
    this.#output = new ResponseOutput(exchange.id, emit, {
      reasoningFields: reasoningFields(exchange.request),
      functions: namespacedFunctions(exchange.request),
    });
  }

  /** Takes everything from a part except its deltas; the first part's model is in the first events. */
  note(part: AnswerPart): void {
    this.#model ??= part.model;
    this.#usage = part.usage ?? this.#usage;
    this.#finish = part.finish ?? this.#finish;
  }

  /** Returns the reason to fail the answer, or null. */
  add({ deltas }: AnswerPart): string | null {
    for (const delta of deltas) this.#output.add(delta);
    return this.#output.problem();
  }

  /** Closes the items and stores them; null without a finish reason. */
  finish(): ResponseProgress | null {
    if (this.#finish === null) return null;
    const finish = finishOf(this.#finish, this.#usage, {
      limit: memberOf(this.#exchange.request, 'max_output_tokens'),
      hasUnfinishedCall: () => this.#output.hasUnfinishedCall(),
    });
    const progress = progressOf(finish);
    this.#output.finish(progress.status === 'completed' ? 'completed' : 'incomplete');
    if (isKept(this.#exchange.request)) this.#exchange.items?.keep(this.#output.items());
    return progress;
  }

  object(progress: ResponseProgress): object {
    const state = {
      model: this.#model ?? this.#exchange.model,
      output: this.#output.items(),
      usage: this.#usage,
    };
    return responseObject(this.#exchange, progress, state);
  }
}

/** Clients send references instead of items only with `store`, which is the default. */
const isKept = (request: unknown) => memberOf(request, 'store') !== false;

/** Without `store`, clients send reasoning back only if it came with this field. It is not really encrypted. */
function reasoningFields(request: unknown): object {
  const isAsked = listOf(memberOf(request, 'include')).includes('reasoning.encrypted_content');
  return isAsked ? { encrypted_content: NOT_ENCRYPTED } : {};
}

export function wholeAnswer(completion: unknown, exchange: TranslatedExchange): WholeAnswer {
  const part = readChatAnswer(completion);
  if (part.kind === 'error') return { kind: 'bad_response', message: part.message };
  const answer = new ResponseAnswer(exchange, () => {});
  answer.note(part);
  const problem = answer.add(part);
  if (problem !== null) return { kind: 'bad_response', message: problem };
  const progress = answer.finish();
  if (progress === null) return { kind: 'bad_response', message: NO_FINISH };
  return { kind: 'answer', body: answer.object(progress) };
}

export function createResponseStream(exchange: TranslatedExchange): TranslatedStream {
  return createTranslatedStream((emit) => responseSteps(exchange, emit));
}

function responseSteps(exchange: TranslatedExchange, emit: Emit): StreamSteps {
  let sequence = 0;
  const send = (type: string, fields: object) =>
    emit({ type, sequence_number: sequence++, ...fields });
  const answer = new ResponseAnswer(exchange, send);
  return {
    note: (part) => answer.note(part),
    begin() {
      const response = answer.object({ status: 'in_progress' });
      send('response.created', { response });
      send('response.in_progress', { response });
    },
    add: (part) => answer.add(part),
    finish() {
      const progress = answer.finish();
      if (progress === null) return NO_FINISH;
      send(`response.${progress.status}`, { response: answer.object(progress) });
      return null;
    },
    fail(error, begin) {
      begin();
      // Some clients know one event, some the other; OpenAI sends the error flat or nested.
      const body = openAiError(error).error;
      const { message, code, param } = body;
      send('error', { message, code, param, error: body, src: 'gateway' });
      send('response.failed', { response: answer.object({ status: 'failed', error }) });
    },
  };
}

type ResponseProgress =
  | { readonly status: 'in_progress' | 'completed' }
  | { readonly status: 'incomplete'; readonly reason: 'max_output_tokens' | 'content_filter' }
  | { readonly status: 'failed'; readonly error: HttpError };

function progressOf(finish: Finish): ResponseProgress {
  switch (finish) {
    case 'length':
      return { status: 'incomplete', reason: 'max_output_tokens' };
    case 'content_filter':
      return { status: 'incomplete', reason: 'content_filter' };
    default:
      return { status: 'completed' };
  }
}

/** Settings of a request that its answer repeats, with their defaults. */
const REPEATED: Readonly<Record<string, unknown>> = {
  instructions: null,
  max_output_tokens: null,
  metadata: {},
  parallel_tool_calls: true,
  reasoning: { effort: null, summary: null },
  temperature: null,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  top_p: null,
  user: null,
};

interface ResponseState {
  readonly model: string;
  readonly output: readonly OutputItem[];
  readonly usage: Usage | null;
}

/** The object of a whole answer, which the first and last events of a stream also contain. */
function responseObject(
  exchange: TranslatedExchange,
  progress: ResponseProgress,
  { model, output, usage }: ResponseState,
): object {
  const request = isObject(exchange.request) ? exchange.request : {};
  const repeated = Object.entries(REPEATED).map(([key, other]) => [key, request[key] ?? other]);
  return {
    id: `resp_${exchange.id}`,
    object: 'response',
    created_at: exchange.createdAt,
    status: progress.status,
    error: progress.status === 'failed' ? failureOf(progress.error) : null,
    incomplete_details: progress.status === 'incomplete' ? { reason: progress.reason } : null,
    model,
    output,
    usage: usage === null ? null : usageObject(usage),
    background: false,
    previous_response_id: null,
    service_tier: 'default',
    // Answers cannot be retrieved later.
    store: false,
    truncation: 'disabled',
    access_programs: null,
    ...(Object.fromEntries(repeated) as object),
  };
}

function usageObject({ input, cached, output, reasoning }: Usage): object {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning ?? 0 },
    total_tokens: input + output,
  };
}

/** The codes of this field are a fixed set; the gateway's own code goes into the error event. */
function failureOf({ status, message }: HttpError): object {
  return { code: status === 429 ? 'rate_limit_exceeded' : 'server_error', message };
}

import { isObject, listOf, memberOf } from '../../../platform/json.ts';
import type { Finish } from '../chat/content.ts';
import { type Usage, type AnswerDelta, type Citation } from '../translation/chat-answer.ts';
import {
  createTranslatedStream,
  type Emit,
  type StreamSteps,
  wholeBySteps,
} from '../translation/translated-stream.ts';
import {
  type TranslatedExchange,
  type TranslatedStream,
  type WholeAnswer,
  NO_FINISH,
  openAiError,
} from '../translation/translation.ts';
import { namespacedFunctions, type FunctionName } from './tools.ts';
import { NOT_ENCRYPTED, itemId } from './history.ts';
import type { HttpError } from '../../../platform/http/responses.ts';
import type { CallPiece } from '../chat/calls.ts';
import {
  type PartialCall,
  type TextBuilder,
  createPartialCalls,
  createTextBuilder,
  isWholeCall,
} from '../translation/partial-calls.ts';

/** Clients send references instead of items only with `store`, which is the default. */
const isKept = (request: unknown) => memberOf(request, 'store') !== false;

/** Without `store`, clients send reasoning back only if it came with this field. It is not really encrypted. */
function reasoningFields(request: unknown): object {
  const isAsked = listOf(memberOf(request, 'include')).includes('reasoning.encrypted_content');
  return isAsked ? { encrypted_content: NOT_ENCRYPTED } : {};
}

export function wholeAnswer(completion: unknown, exchange: TranslatedExchange): WholeAnswer {
  let whole: object = {};
  const emit: Emit = ({ response }) => {
    if (isObject(response)) whole = response;
  };
  return wholeBySteps(completion, responseSteps(exchange, emit), () => whole);
}

export function createResponseStream(exchange: TranslatedExchange): TranslatedStream {
  return createTranslatedStream((emit) => responseSteps(exchange, emit));
}

function responseSteps(exchange: TranslatedExchange, emit: Emit): StreamSteps {
  let sequence = 0;
  let model: string | null = null;
  let usage: Usage | null = null;
  let finish: Finish | null = null;
  const send = (type: string, fields: object) =>
    emit({ type, sequence_number: sequence++, ...fields });
  const output = new ResponseOutput(exchange.id, send, {
    reasoningFields: reasoningFields(exchange.request),
    functions: namespacedFunctions(exchange.request),
  });
  const responseAt = (progress: ResponseProgress) => {
    const state = { model: model ?? exchange.model, output: output.items(), usage };
    return responseObject(exchange, progress, state);
  };
  return {
    note(part) {
      // The first part's model is in the first events.
      model ??= part.model;
      usage = part.usage ?? usage;
      finish = part.finish ?? finish;
    },
    begin() {
      const response = responseAt({ status: 'in_progress' });
      send('response.created', { response });
      send('response.in_progress', { response });
    },
    add({ deltas }) {
      for (const delta of deltas) output.add(delta);
      return output.problem();
    },
    finish() {
      if (finish === null) return NO_FINISH;
      const progress = progressOf(finish);
      output.finish(progress.status === 'completed' ? 'completed' : 'incomplete');
      if (isKept(exchange.request)) exchange.items?.keep(output.items());
      send(`response.${progress.status}`, { response: responseAt(progress) });
      return null;
    },
    fail(error, begin) {
      begin();
      // Some clients know one event, some the other; OpenAI sends the error flat or nested.
      const body = openAiError(error).error;
      const { message, code, param } = body;
      send('error', { message, code, param, error: body, src: 'gateway' });
      send('response.failed', { response: responseAt({ status: 'failed', error }) });
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
export function responseObject(
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

/** An item of an answer's `output`. */
interface OutputItem {
  readonly id: string;
  readonly type: string;
  readonly [field: string]: unknown;
}

type Status = 'completed' | 'incomplete';
type Send = (type: string, fields: object) => void;

interface ItemSettings {
  /** Added to each reasoning item. */
  readonly reasoningFields: object;
  /** Functions in namespaces, by the names that the upstream calls them by. */
  readonly functions: ReadonlyMap<string, FunctionName>;
}

interface OpenReasoning {
  readonly kind: 'reasoning';
  readonly place: number;
  readonly id: string;
  readonly text: TextBuilder;
}

interface OpenMessage {
  readonly kind: 'message';
  readonly place: number;
  readonly id: string;
  /** Finished parts. */
  readonly content: object[];
  part: OpenPart | null;
}

interface OpenPart {
  readonly type: 'output_text' | 'refusal';
  readonly text: TextBuilder;
  readonly annotations: object[];
}

interface OpenCall {
  readonly place: number;
  readonly id: string;
  readonly function: FunctionName;
  readonly call: PartialCall;
}

/** More than any real answer has; limited because even a short one takes memory. */
const MAX_ITEMS = 10_000;

/**
 * The items of an answer, built from its deltas, with the events that report each step. Items are closed when the
 * next one begins; only calls whose pieces arrive mixed stay open side by side.
 */
class ResponseOutput {
  readonly #exchangeId: string;
  readonly #emit: Send;
  readonly #asked: ItemSettings;
  readonly #items: OutputItem[] = [];
  readonly #calls;
  /** In order of their places. */
  readonly #openCalls = new Map<PartialCall, OpenCall>();
  #open: OpenReasoning | OpenMessage | null = null;
  #places = 0;
  #isMixed = false;
  #problem: string | null = null;

  constructor(exchangeId: string, emit: Send, asked: ItemSettings) {
    this.#exchangeId = exchangeId;
    this.#emit = emit;
    this.#asked = asked;
    this.#calls = createPartialCalls(exchangeId);
  }

  /** The reason to fail the answer; null if there is none. */
  problem(): string | null {
    return this.#problem;
  }

  add(delta: AnswerDelta): void {
    if (this.#problem !== null) return;
    switch (delta.kind) {
      case 'reasoning':
        return this.#addReasoning(delta.text);
      case 'text':
        return this.#addText('output_text', delta.text);
      case 'refusal':
        return this.#addText('refusal', delta.text);
      case 'citation':
        return this.#addCitation(delta.citation);
      case 'call':
        return this.#addCall(delta.call);
    }
  }

  /** Closes what is still open, with this status. */
  finish(status: Status): void {
    this.#closeOpen(status);
    for (const open of this.#openCalls.values()) this.#closeCall(open, status);
    this.#openCalls.clear();
  }

  items(): readonly OutputItem[] {
    // Items that stay open side by side are closed out of order.
    return this.#items.filter(() => true);
  }

  #nextPlace(): number {
    if (this.#places === MAX_ITEMS) {
      this.#problem = `The upstream's answer has over ${MAX_ITEMS} parts.`;
    }
    return this.#places++;
  }

  #addReasoning(text: string): void {
    const open = this.#open?.kind === 'reasoning' ? this.#open : this.#openReasoning();
    open.text.add(text);
    this.#send('reasoning_summary_text.delta', open, { summary_index: 0, delta: text });
  }

  #openReasoning(): OpenReasoning {
    this.#closeOpen('completed');
    const place = this.#nextPlace();
    const id = itemId('rs', this.#exchangeId, place);
    const open: OpenReasoning = { kind: 'reasoning', place, id, text: createTextBuilder() };
    this.#open = open;
    const item = { id, type: 'reasoning', status: 'in_progress', summary: [] };
    this.#added(open, { ...item, ...this.#asked.reasoningFields });
    this.#send('reasoning_summary_part.added', open, { summary_index: 0, part: summaryPart('') });
    return open;
  }

  #addText(type: OpenPart['type'], text: string): void {
    const [message, part] = this.#partOf(type);
    part.text.add(text);
    const content_index = message.content.length;
    if (type === 'refusal') this.#send('refusal.delta', message, { content_index, delta: text });
    else this.#send('output_text.delta', message, { content_index, delta: text, logprobs: [] });
  }

  #addCitation(citation: Citation): void {
    const [message, part] = this.#partOf('output_text');
    const annotation = { type: 'url_citation', ...citation };
    const annotation_index = part.annotations.push(annotation) - 1;
    const content_index = message.content.length;
    const fields = { content_index, annotation_index, annotation };
    this.#send('output_text.annotation.added', message, fields);
  }

  #partOf(type: OpenPart['type']): readonly [OpenMessage, OpenPart] {
    const message = this.#open?.kind === 'message' ? this.#open : this.#openMessage();
    if (message.part?.type === type) return [message, message.part];
    this.#closePart(message);
    const part: OpenPart = { type, text: createTextBuilder(), annotations: [] };
    message.part = part;
    const fields = { content_index: message.content.length, part: partObject(type, '', []) };
    this.#send('content_part.added', message, fields);
    return [message, part];
  }

  #openMessage(): OpenMessage {
    this.#closeOpen('completed');
    const place = this.#nextPlace();
    const id = itemId('msg', this.#exchangeId, place);
    const open: OpenMessage = { kind: 'message', place, id, content: [], part: null };
    this.#open = open;
    this.#added(open, {
      id,
      type: 'message',
      status: 'in_progress',
      role: 'assistant',
      content: [],
    });
    return open;
  }

  #addCall(delta: CallPiece): void {
    const piece = this.#calls.add(delta);
    if (piece.kind === 'problem') {
      this.#problem = piece.problem;
      return;
    }
    const { call, isNew, added } = piece;
    const open = isNew ? this.#openCall(call) : this.#openCalls.get(call);
    if (open === undefined || added === '') return;
    this.#send('function_call_arguments.delta', open, { delta: added });
  }

  #openCall(call: PartialCall): OpenCall {
    this.#closeOpen('completed');
    this.#closeCompleteCall();
    const place = this.#nextPlace();
    const name = this.#asked.functions.get(call.name) ?? { name: call.name };
    const open = { place, id: itemId('fc', this.#exchangeId, place), function: name, call };
    this.#openCalls.set(call, open);
    this.#added(open, callItem(open, '', 'in_progress'));
    return open;
  }

  /** Once calls are mixed, none is parsed again: the cost would be quadratic. */
  #closeCompleteCall(): void {
    const [last] = this.#openCalls.values();
    if (last === undefined || this.#isMixed) return;
    this.#isMixed = !isWholeCall(last.call);
    if (this.#isMixed) return;
    this.#closeCall(last, 'completed');
    this.#openCalls.delete(last.call);
  }

  #closeCall(open: OpenCall, status: Status): void {
    open.call.isClosed = true;
    const told = open.call.arguments.text();
    // Clients parse the arguments, and engines send none for a call without any.
    const missing = status === 'completed' && told.trim() === '' ? '{}' : '';
    if (missing !== '') this.#send('function_call_arguments.delta', open, { delta: missing });
    const json = told + missing;
    const done = { name: open.function.name, arguments: json };
    this.#send('function_call_arguments.done', open, done);
    this.#done(open, callItem(open, json, status));
  }

  #closeOpen(status: Status): void {
    const open = this.#open;
    this.#open = null;
    if (open === null) return;
    const { id } = open;
    if (open.kind === 'message') {
      this.#closePart(open);
      this.#done(open, { id, type: 'message', status, role: 'assistant', content: open.content });
      return;
    }
    const text = open.text.text();
    this.#send('reasoning_summary_text.done', open, { summary_index: 0, text });
    const part = summaryPart(text);
    this.#send('reasoning_summary_part.done', open, { summary_index: 0, part });
    const item = { id, type: 'reasoning', status, summary: [part] };
    this.#done(open, { ...item, ...this.#asked.reasoningFields });
  }

  #closePart(message: OpenMessage): void {
    const open = message.part;
    if (open === null) return;
    message.part = null;
    const content_index = message.content.length;
    const text = open.text.text();
    if (open.type === 'refusal')
      this.#send('refusal.done', message, { content_index, refusal: text });
    else this.#send('output_text.done', message, { content_index, text, logprobs: [] });
    const part = partObject(open.type, text, open.annotations);
    this.#send('content_part.done', message, { content_index, part });
    message.content.push(part);
  }

  #added({ place }: { readonly place: number }, item: OutputItem): void {
    this.#emit('response.output_item.added', { output_index: place, item });
  }

  #done({ place }: { readonly place: number }, item: OutputItem): void {
    this.#items[place] = item;
    this.#emit('response.output_item.done', { output_index: place, item });
  }

  #send(event: string, of: { readonly id: string; readonly place: number }, fields: object): void {
    this.#emit(`response.${event}`, { item_id: of.id, output_index: of.place, ...fields });
  }
}

const summaryPart = (text: string) => ({ type: 'summary_text', text });

function partObject(type: OpenPart['type'], text: string, annotations: readonly object[]): object {
  return type === 'refusal' ? { type, refusal: text } : { type, text, annotations, logprobs: [] };
}

function callItem(open: OpenCall, json: string, status: string): OutputItem {
  const { id, call } = open;
  const item = { id, type: 'function_call', status, call_id: call.id, ...open.function };
  return { ...item, arguments: json };
}

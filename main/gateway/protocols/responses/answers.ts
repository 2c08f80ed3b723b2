import type { HttpError } from '../../../platform/http/responses.ts';
import { listOf, memberOf } from '../../../platform/json.ts';
import {
  type CallPiece,
  createPartialCalls,
  type PartialCall,
  TextBuilder,
} from '../chat/calls.ts';
import type { Finish } from '../chat/chunks.ts';
import type { AnswerDelta, AnswerState, Citation } from '../translation/chat-answer.ts';
import type { TokenCounts } from '../tokens.ts';
import type {
  AnswerSteps,
  BegunAnswer,
  FunctionName,
  TranslatedExchange,
} from '../translation/translation.ts';
import { openaiError } from '../../http/errors.ts';
import { itemId } from './item-memory.ts';

/** In place of encrypted reasoning. */
export const NOT_ENCRYPTED = 'unencrypted';

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

interface ResponseProgress {
  readonly status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  readonly error?: object;
  readonly incomplete_details?: object;
  readonly output?: readonly OutputItem[];
}

/** The object of a whole answer, which the first and last events of a stream also contain. */
export function responseObject(
  exchange: Pick<TranslatedExchange, 'id' | 'createdAt' | 'request' | 'model'>,
  { model, usage }: Pick<AnswerState, 'model' | 'usage'>,
  progress: ResponseProgress,
): object {
  const { id, createdAt, request } = exchange;
  const settings = Object.entries(REPEATED).map(([key, other]) => [
    key,
    memberOf(request, key) ?? other,
  ]);
  return {
    id: `resp_${id}`,
    object: 'response',
    created_at: createdAt,
    error: null,
    incomplete_details: null,
    output: [],
    ...progress,
    model: model ?? exchange.model,
    usage: usage === null ? null : usageObject(usage),
    background: false,
    previous_response_id: null,
    service_tier: 'default',
    // Answers cannot be retrieved later.
    store: false,
    truncation: 'disabled',
    access_programs: null,
    ...(Object.fromEntries(settings) as object),
  };
}

function usageObject({ input = 0, cached = 0, output = 0, reasoning = 0 }: TokenCounts): object {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}

/** An item of an answer's `output`. */
interface OutputItem {
  readonly id: string;
  readonly type: string;
  readonly [field: string]: unknown;
}

type Status = 'completed' | 'incomplete';

interface Place {
  readonly place: number;
  readonly id: string;
}

/** Items that have parts, and the names in the events of these. */
const ITEMS = {
  message: { id: 'msg', part: 'content_part', index: 'content_index' },
  reasoning: { id: 'rs', part: 'reasoning_summary_part', index: 'summary_index' },
} as const;

/** Parts, by what they are of an answer, and the name in the events of their texts. */
const PARTS = {
  text: { item: 'message', type: 'output_text', event: 'output_text' },
  refusal: { item: 'message', type: 'refusal', event: 'refusal' },
  reasoning: { item: 'reasoning', type: 'summary_text', event: 'reasoning_summary_text' },
} as const;

interface OpenItem extends Place {
  readonly type: keyof typeof ITEMS;
  /** Those that are finished. */
  readonly parts: object[];
}

interface OpenPart {
  readonly kind: keyof typeof PARTS;
  readonly item: OpenItem;
  readonly text: TextBuilder;
  readonly annotations: object[];
}

interface OpenCall extends Place {
  readonly function: FunctionName;
  readonly call: PartialCall;
}

/** More than any real answer has; limited because even a short one takes memory. */
const MAX_ITEMS = 10_000;

/**
 * The items of an answer, built from its deltas, with the events that report each step. Items are closed when the
 * next one begins; only calls whose pieces arrive mixed stay open side by side.
 */
export class ResponseSteps implements AnswerSteps {
  readonly #answer: BegunAnswer;
  /** Without `store`, clients send reasoning back only if it came with this field. It is not really encrypted. */
  readonly #encrypted: object;
  readonly #items: OutputItem[] = [];
  readonly #calls = createPartialCalls();
  /** In order of their places. */
  readonly #openCalls = new Map<PartialCall, OpenCall>();
  #item: OpenItem | null = null;
  #part: OpenPart | null = null;
  #places = 0;
  #sequence = 0;

  constructor(answer: BegunAnswer) {
    const { request } = answer.exchange;
    const isAsked = listOf(memberOf(request, 'include')).includes('reasoning.encrypted_content');
    this.#answer = answer;
    this.#encrypted = isAsked ? { encrypted_content: NOT_ENCRYPTED } : {};
  }

  begin(): void {
    const response = this.#response({ status: 'in_progress' });
    this.#emit('response.created', { response });
    this.#emit('response.in_progress', { response });
  }

  add(delta: AnswerDelta): void {
    if (delta.kind === 'citation') this.#addCitation(delta.citation);
    else if (delta.kind === 'call') this.#addCall(delta.call);
    else this.#addText(delta.kind, delta.text);
  }

  finish(finish: Finish): void {
    const reason = finish === 'length' ? 'max_output_tokens' : finish;
    const isCut = finish === 'length' || finish === 'content_filter';
    const status = isCut ? 'incomplete' : 'completed';
    this.#closeOpen(status);
    for (const open of this.#openCalls.values()) this.#closeCall(open, status);
    const { request, items } = this.#answer.exchange;
    // Clients send references instead of items only with `store`, which is the default.
    if (memberOf(request, 'store') !== false) items?.keep(this.#output());
    const response = this.#response({ status, ...(isCut && { incomplete_details: { reason } }) });
    this.#emit(`response.${status}`, { response });
  }

  fail(error: HttpError, begin: () => void): void {
    begin();
    // Some clients know one event, some the other.
    this.#emit('error', errorFields(error));
    // The codes of this field are a fixed set; the gateway's own code goes into the error event.
    const known = error.status === 429 ? 'rate_limit_exceeded' : 'server_error';
    const response = this.#response({
      status: 'failed',
      error: { code: known, message: error.message },
    });
    this.#emit('response.failed', { response });
  }

  #response(progress: ResponseProgress): object {
    const { exchange, told } = this.#answer;
    return responseObject(exchange, told, { output: this.#output(), ...progress });
  }

  /** Items that stay open side by side are closed out of order. */
  #output(): readonly OutputItem[] {
    return this.#items.filter(() => true);
  }

  #next(kind: 'rs' | 'msg' | 'fc'): Place {
    this.#closeOpen('completed');
    if (this.#places === MAX_ITEMS)
      this.#answer.refuse(`The upstream's answer has over ${MAX_ITEMS} parts.`);
    const place = this.#places++;
    return { place, id: itemId(kind, this.#answer.exchange.id, place) };
  }

  #addText(kind: OpenPart['kind'], text: string): void {
    const part = this.#partOf(kind);
    part.text.add(text);
    const logprobs = kind === 'text' ? { logprobs: [] } : {};
    this.#sendOfPart(part, `${PARTS[kind].event}.delta`, { delta: text, ...logprobs });
  }

  #addCitation(citation: Citation): void {
    const part = this.#partOf('text');
    const annotation = { type: 'url_citation', ...citation };
    const annotation_index = part.annotations.push(annotation) - 1;
    const fields = { annotation_index, annotation };
    this.#sendOfPart(part, 'output_text.annotation.added', fields);
  }

  #partOf(kind: OpenPart['kind']): OpenPart {
    if (this.#part?.kind === kind) return this.#part;
    this.#closePart();
    const { item: type } = PARTS[kind];
    const item = this.#item?.type === type ? this.#item : this.#openItem(type);
    const part: OpenPart = { kind, item, text: new TextBuilder(), annotations: [] };
    this.#part = part;
    this.#sendOfPart(part, `${ITEMS[type].part}.added`, { part: partObject(part) });
    return part;
  }

  #openItem(type: OpenItem['type']): OpenItem {
    const item = { type, ...this.#next(ITEMS[type].id), parts: [] };
    this.#item = item;
    this.#added(item, this.#itemObject(item, 'in_progress'));
    return item;
  }

  #itemObject({ id, type, parts }: OpenItem, status: string): OutputItem {
    return type === 'message'
      ? { id, type, status, role: 'assistant', content: [...parts] }
      : { id, type, status, summary: [...parts], ...this.#encrypted };
  }

  #addCall(delta: CallPiece): void {
    const { call, isNew, added } = this.#calls.add(delta);
    const open = isNew ? this.#openCall(call) : this.#openCalls.get(call);
    if (open === undefined || added === '') return;
    this.#send('function_call_arguments.delta', open, { delta: added });
  }

  #openCall(call: PartialCall): OpenCall {
    this.#closeOpen('completed');
    for (const open of this.#openCalls.values())
      if (open.call.progress.isWhole()) this.#closeCall(open, 'completed');
    const name = this.#answer.exchange.functions.get(call.name) ?? { name: call.name };
    const open = { ...this.#next('fc'), function: name, call };
    this.#openCalls.set(call, open);
    this.#added(open, callItem(open, '', 'in_progress'));
    return open;
  }

  #closeCall(open: OpenCall, status: Status): void {
    open.call.isClosed = true;
    this.#openCalls.delete(open.call);
    const json = open.call.arguments.text();
    const done = { name: open.function.name, arguments: json };
    this.#send('function_call_arguments.done', open, done);
    this.#done(open, callItem(open, json, status));
  }

  #closeOpen(status: Status): void {
    this.#closePart();
    const item = this.#item;
    this.#item = null;
    if (item !== null) this.#done(item, this.#itemObject(item, status));
  }

  #closePart(): void {
    const open = this.#part;
    this.#part = null;
    if (open === null) return;
    const part = partObject(open);
    const { type: _type, annotations: _annotations, ...told } = part;
    this.#sendOfPart(open, `${PARTS[open.kind].event}.done`, told);
    this.#sendOfPart(open, `${ITEMS[open.item.type].part}.done`, { part });
    open.item.parts.push(part);
  }

  #added({ place }: Place, item: OutputItem): void {
    this.#emit('response.output_item.added', { output_index: place, item });
  }

  #done({ place }: Place, item: OutputItem): void {
    this.#items[place] = item;
    this.#emit('response.output_item.done', { output_index: place, item });
  }

  #sendOfPart({ item }: OpenPart, event: string, fields: object): void {
    this.#send(event, item, { [ITEMS[item.type].index]: item.parts.length, ...fields });
  }

  #send(event: string, { id, place }: Place, fields: object): void {
    this.#emit(`response.${event}`, { item_id: id, output_index: place, ...fields });
  }

  #emit(type: string, fields: object): void {
    this.#answer.emit({ type, sequence_number: this.#sequence++, ...fields });
  }
}

/** Flat, and nested in `error`, on which OpenAI's clients throw: OpenAI sends either. */
export function errorFields(given: HttpError) {
  const { error, src } = openaiError(given);
  const { message, code, param } = error;
  return { message, code, param, error, src };
}

/** As far as it has come. */
function partObject({ kind, text: soFar, annotations }: OpenPart) {
  const { type } = PARTS[kind];
  const text = soFar.text();
  if (type === 'refusal') return { type, refusal: text };
  return type === 'summary_text'
    ? { type, text }
    : { type, text, annotations: [...annotations], logprobs: [] };
}

function callItem(
  { id, call, function: name }: OpenCall,
  json: string,
  status: string,
): OutputItem {
  return { id, type: 'function_call', status, call_id: call.id, ...name, arguments: json };
}

import { isObject, listOf, memberOf, parseJson, writeJson } from '../../../platform/json.ts';
import type { Assembly } from '../assembly.ts';
import { createMemberScan, endpointAt, ONE_WHOLE } from '../endpoint.ts';
import { smallValueOf } from '../json-edit.ts';
import { itemsIn } from './item-memory.ts';
import { withoutOwn } from '../thoughts.ts';
import { type EventRepair, type TypedEnds, createTypedWatch, judgeTyped } from '../typed-events.ts';
import type { ProtocolTranslation } from '../translation/translation.ts';
import { errorFields, responseObject, ResponseSteps } from './answers.ts';
import { toChat } from './request.ts';
import { dataOf, eventsOf, eventWith, Framer, typedEvent } from '../sse.ts';

export const RESPONSES_TRANSLATION: ProtocolTranslation = {
  toChat,
  stepsOf: (answer) => new ResponseSteps(answer),
  wholeOf: (events) => events.at(-1)?.['response'] as object,
};

const ENDS: TypedEnds = {
  done: ['response.completed', 'response.incomplete'],
  failed: ['response.failed', 'error'],
};

/** OpenAI's Responses API. Its fields are the upstream's to check: an answer may be asked for by `prompt` alone. */
export const RESPONSES = endpointAt('/responses', {
  // A request that runs in the background is answered before its response is complete.
  asks: (body) => ({
    ...ONE_WHOLE,
    isAssemblable: () => smallValueOf(body, 'background') !== true,
  }),
  answer: {
    // A response that runs in the background has no output yet.
    createScan: () => createMemberScan({ output: 'any list' }),
    stream: {
      judge: (value) => judgeTyped(value, ENDS, hasContent),
      createWatch: () => createTypedWatch(ENDS, createResponseRepair()),
      createAssembly: createResponseAssembly,
      sign: responseSign,
      afterSigns: afterResponseSigns,
      errorEvent: (error) =>
        typedEvent({ type: 'error', sequence_number: 0, ...errorFields(error) }),
      // The first two events repeat the instructions and the tools of the request.
      maxHeldBytes: 4 * 1024 * 1024,
    },
  },
  support: 'translatable',
  translation: RESPONSES_TRANSLATION,
  withoutOwn,
  itemsOf: itemsIn,
});

/** Items that are content by being there: a tool call, say, but no message or reasoning, whose text follows. */
function hasContent(type: string, value: Readonly<Record<string, unknown>>): boolean {
  if (ENDS.done.includes(type) || type === 'response.output_item.done') return true;
  if (type.endsWith('.delta')) return value['delta'] !== '';
  const { item } = value;
  const isItem = type === 'response.output_item.added' && isObject(item);
  return isItem && item['type'] !== 'message' && item['type'] !== 'reasoning';
}

/** The last event has the whole answer, or else all of its items came before. */
function createResponseAssembly(): Assembly {
  const items = createItems();
  let response: unknown = null;
  return {
    add(chunk) {
      if (!isObject(chunk)) return;
      const { type, response: last } = chunk;
      if (!ENDS.done.includes(String(type))) items.add(chunk);
      else response = isObject(last) ? withOutput(last, items.all()) : last;
    },
    finished: () => isObject(response),
    problem: () => null,
    result: () => (isObject(response) ? writeJson(response) : null),
  };
}

type Json = Readonly<Record<string, unknown>>;

const ITEM_DONE = 'response.output_item.done';
const COMPLETED = 'response.completed';
const INCOMPLETE = Buffer.from('"incomplete"');
const NO_OUTPUT = /"output"\s*:\s*(\[\s*\]|null)/;
/** Of items that are kept for the last event. */
const MAX_KEPT_BYTES = 4 * 1024 * 1024;

/**
 * Puts right the last event of a response: vLLM calls it `response.completed` also where the limit cut the answer off
 * (vllm-project/agentic-api#273), and Codex's host leaves the output out (NousResearch/hermes-agent#5689).
 */
export function createResponseRepair(): EventRepair {
  const done: Buffer[] = [];
  let keptBytes = 0;

  function keep(event: Buffer): void {
    keptBytes += event.length;
    if (keptBytes <= MAX_KEPT_BYTES) done.push(event);
    else done.length = 0;
  }

  function withEnd(event: Buffer, type: string): Buffer {
    const isSuspect = event.includes(INCOMPLETE) || NO_OUTPUT.test(event.toString('latin1'));
    const value = isSuspect ? parseJson(dataOf(event) ?? '') : undefined;
    const response = memberOf(value, 'response');
    if (!isObject(value) || !isObject(response)) return event;
    const right = withOutput(response, done.map(itemOf));
    const isCut = type === COMPLETED && response['status'] === 'incomplete';
    if (right === response && !isCut) return event;
    const name = isCut ? 'response.incomplete' : type;
    const json = writeJson({ ...value, type: name, response: right });
    return json === null ? event : Buffer.from(`event: ${name}\ndata: ${json}\n\n`);
  }

  return {
    words: [ITEM_DONE],
    take(event, type) {
      if (type === ITEM_DONE) keep(event);
      return type === COMPLETED || type === 'response.incomplete' ? withEnd(event, type) : event;
    },
    isWhole: () => true,
  };
}

const itemOf = (event: Buffer): unknown => memberOf(parseJson(dataOf(event) ?? ''), 'item');

/** The response with what came before it, where it has no output itself. */
const withOutput = (response: Json, items: readonly unknown[]): Json =>
  items.length > 0 && listOf(response['output']).length === 0
    ? { ...response, output: items }
    : response;

/** The first two events of a stream, then the second one again, as the answer goes on from it: Codex counts events, not comments. */
function responseSign(
  n: number,
  { id, model }: { readonly id: string; readonly model: string },
): string {
  const exchange = { id, model, createdAt: 0, request: null };
  const response = responseObject(exchange, { model, usage: null }, { status: 'in_progress' });
  const first = { type: 'response.created', sequence_number: 0, response };
  const next = { type: 'response.in_progress', sequence_number: 1, response };
  return (n === 0 ? typedEvent(first) : '') + typedEvent(next);
}

const BEGUN = new Set(['response.created', 'response.queued', 'response.in_progress']);
const ENDED = new Set(['response.completed', 'response.incomplete', 'response.failed']);

/** One response has one beginning, and one id: OpenAI's client throws if that changes (openai 6). */
function afterResponseSigns(events: Buffer, id: string): Buffer {
  const frames = new Framer().push(events);
  if (frames === null || ![...BEGUN, ...ENDED].some((type) => events.includes(type))) return events;
  return Buffer.concat(eventsOf(frames).flatMap((event) => renamed(event, id) ?? []));
}

function renamed(event: Buffer, id: string): Buffer | null {
  const value = parseJson(dataOf(event) ?? '');
  if (!isObject(value)) return event;
  const { type, response } = value;
  if (BEGUN.has(String(type))) return null;
  if (!ENDED.has(String(type)) || !isObject(response)) return event;
  return eventWith(
    event,
    JSON.stringify({ ...value, response: { ...response, id: `resp_${id}` } }),
  );
}

/** An answer has a few dozen. */
const MAX_ITEMS = 10_000;

/** Members of an item that come in pieces, by the name of their events. */
const MEMBERS: Readonly<Record<string, string>> = {
  function_call_arguments: 'arguments',
  mcp_call_arguments: 'arguments',
  custom_tool_call_input: 'input',
};

/** Parts of an item that do: where they are, their type and what grows. */
const PARTS: Readonly<Record<string, readonly [list: string, type: string, key: string]>> = {
  output_text: ['content', 'output_text', 'text'],
  refusal: ['content', 'refusal', 'refusal'],
  reasoning_text: ['content', 'reasoning_text', 'text'],
  reasoning_summary_text: ['summary', 'summary_text', 'text'],
};

/** Whose text comes without a beginning. */
const UNTOLD: Json = { type: 'message', role: 'assistant' };

/**
 * The items of a response, gathered from its events: some hosts never say that an item is done (NousResearch/hermes-agent#92764),
 * and end with an empty output.
 */
function createItems() {
  const items = new Map<unknown, Json>();

  function grow(event: Json, name: string, isDone: boolean): void {
    const { delta } = event;
    const at = placeOf(event);
    const isUntold = name === 'output_text' && items.size < MAX_ITEMS;
    const item = items.get(at) ?? (isUntold ? UNTOLD : undefined);
    const [list, type, key = MEMBERS[name]] = PARTS[name] ?? [];
    if (item === undefined || key === undefined) return;
    const grown = (holder: Json) => {
      const before = holder[key];
      const text = isDone ? event[key] : (typeof before === 'string' ? before : '') + String(delta);
      return { ...holder, [key]: text ?? before };
    };
    if (list === undefined) items.set(at, grown(item));
    else {
      const parts = [...listOf(item[list])];
      const index = Number(event[`${list}_index`] ?? 0);
      const known = parts[index];
      // Places are counted up, so that another one is none.
      if (index >= 0 && index <= parts.length)
        parts[index] = grown(isObject(known) ? known : { type });
      items.set(at, { ...item, [list]: parts });
    }
  }

  return {
    add(event: Json) {
      const { type, item } = event;
      const [, name = '', what = ''] = /^response\.(\w+)\.(\w+)$/.exec(String(type)) ?? [];
      const isDone = what === 'done';
      if (name !== 'output_item') grow(event, name, isDone);
      else if (isObject(item) && items.size < MAX_ITEMS) {
        const at = placeOf(event) ?? (isDone ? items.size : null);
        if (at !== null) items.set(at, item);
      }
    },
    all: (): readonly unknown[] => [...items.values()],
  };
}

/** llama.cpp names no `output_index` (b11669). */
const placeOf = ({ output_index: index, item_id: id, item }: Json): unknown =>
  index ?? id ?? memberOf(item, 'id');

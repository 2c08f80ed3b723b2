import { isObject, listOf, memberOf, parseJson, writeJson } from '../../../platform/json.ts';
import type { HttpError } from '../../../platform/http/responses.ts';
import { errorBody } from '../../http/errors.ts';
import type { Assembly } from '../assembly.ts';
import { type ApiEndpoint, ONE_WHOLE, anyBody, pathsOf } from '../endpoint.ts';
import { ANY_LIST, createMemberScan, smallValueOf } from '../json-edit.ts';
import { itemsIn, withoutOwnItems } from './history.ts';
import { createItems } from './items.ts';
import { type EventRepair, type TypedEnds, createTypedWatch, judgeTyped } from '../typed-events.ts';
import { type ProtocolTranslation, openAiError } from '../translation/translation.ts';
import { createResponseStream, wholeAnswer } from './answers.ts';
import { afterResponseSigns, responseSign } from './signs.ts';
import { toChat } from './request.ts';
import { dataOf } from '../sse.ts';

export const RESPONSES_TRANSLATION: ProtocolTranslation = {
  toChat,
  answer: wholeAnswer,
  createStream: createResponseStream,
  errorBody: openAiError,
};

const ENDS: TypedEnds = {
  done: ['response.completed', 'response.incomplete'],
  failed: ['response.failed', 'error'],
};

/** OpenAI's Responses API. Its fields are the upstream's to check: an answer may be asked for by `prompt` alone. */
export const RESPONSES: ApiEndpoint = {
  paths: pathsOf('/responses'),
  upstreamPath: '/responses',
  body: 'json',
  checkBody: anyBody,
  // A request that runs in the background is answered before its response is complete.
  asks: (bytes, members) => ({
    ...ONE_WHOLE,
    isAssemblable: () => smallValueOf(bytes, members, 'background') !== true,
  }),
  answer: {
    // A response that runs in the background has no output yet.
    createScan: () => createMemberScan({ output: ANY_LIST }),
    stream: {
      judge: (value) => judgeTyped(value, ENDS, hasContent),
      createWatch: () => createTypedWatch(ENDS, createResponseRepair()),
      createAssembly: createResponseAssembly,
      asksForUsage: false,
      asEvents: null,
      sign: responseSign,
      afterSigns: afterResponseSigns,
      errorEvent,
      // The first two events repeat the instructions and the tools of the request.
      maxHeldBytes: 4 * 1024 * 1024,
    },
    takesBytes: false,
  },
  isResumable: false,
  keepsModel: false,
  support: 'translatable',
  translation: RESPONSES_TRANSLATION,
  withoutOwn: withoutOwnItems,
  itemsOf: itemsIn,
  vendor: 'openai',
};

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
    result() {
      const text = isObject(response) ? writeJson(response) : null;
      return text === null ? null : Buffer.from(text);
    },
  };
}

/** With the fields of the event, and `error`, which OpenAI's clients throw on. */
function errorEvent(error: HttpError): string {
  const { error: inner, src } = errorBody(error, 'openai');
  const { message, code, param } = inner;
  const data = { type: 'error', sequence_number: 0, code, message, param, error: inner, src };
  return `event: error\ndata: ${JSON.stringify(data)}\n\n`;
}

type Json = Readonly<Record<string, unknown>>;

const ITEM_DONE = 'response.output_item.done';
const COMPLETED = 'response.completed';
const INCOMPLETE = Buffer.from('"incomplete"');
const NO_OUTPUT = /"output"\s*:\s*\[\s*\]/;
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
export const withOutput = (response: Json, items: readonly unknown[]): Json =>
  items.length > 0 && Array.isArray(response['output']) && listOf(response['output']).length === 0
    ? { ...response, output: items }
    : response;

import { isObject } from '#shared/objects.ts';
import { writeJson } from '../../../platform/json.ts';
import type { HttpError } from '../../../platform/http/responses.ts';
import { errorBody } from '../../http/errors.ts';
import type { Assembly } from '../assembly.ts';
import { type ApiEndpoint, ONE_WHOLE, pathsOf, anyBody } from '../endpoint.ts';
import { smallValueOf } from '../json-members.ts';
import { ANY_LIST, createMemberScan } from '../answer-scan.ts';
import { withoutOwnItems } from './history.ts';
import { itemsIn } from './item-memory.ts';
import { createTypedWatch, judgeTyped, type TypedEnds } from '../typed-events.ts';
import { type ProtocolTranslation, openAiError } from '../translation/translation.ts';
import { createResponseStream, wholeAnswer } from './answers.ts';
import { createResponseRepair, withOutput } from './repair.ts';
import { toChat } from './request.ts';

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
      isLastChunk: (chunk) => isObject(chunk) && ENDS.done.includes(String(chunk['type'])),
      createEmptyAnswer: () => null,
      createWatch: () => createTypedWatch(ENDS, createResponseRepair()),
      createAssembly: createResponseAssembly,
      asksForUsage: false,
      asEvents: null,
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

/** An answer has a few dozen. */
const MAX_ITEMS = 10_000;

/** The last event has the whole answer, or else all of its items came before. */
function createResponseAssembly(): Assembly {
  const items: unknown[] = [];
  let response: unknown = null;
  return {
    add(chunk) {
      if (!isObject(chunk)) return;
      const { type, item, response: last } = chunk;
      if (type === 'response.output_item.done' && items.length < MAX_ITEMS) items.push(item);
      if (ENDS.done.includes(String(type)))
        response = isObject(last) ? withOutput(last, items) : last;
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

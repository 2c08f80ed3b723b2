import { isObject } from '#shared/objects.ts';
import type { HttpError } from '../../../platform/http/responses.ts';
import { errorBody } from '../../http/errors.ts';
import { countTokens } from './count-tokens.ts';
import { MESSAGES as MESSAGES_TRANSLATION } from './translation.ts';
import { type ApiEndpoint, ONE_WHOLE, pathsOf, requiresList } from '../endpoint.ts';
import { ANY_LIST, createMemberScan, NUMBER } from '../answer-scan.ts';
import { createMessageAssembly } from './assembly.ts';
import { withoutUnsigned } from './history.ts';
import { createTypedWatch, judgeTyped, type TypedEnds } from '../typed-events.ts';

const ENDS: TypedEnds = { done: ['message_stop'], failed: ['error'] };

const COMMON = {
  body: 'json',
  checkBody: requiresList('messages'),
  keepsModel: false,
  vendor: 'anthropic',
} as const satisfies Partial<ApiEndpoint>;

/** Anthropic's Messages API. */
export const MESSAGES: ApiEndpoint = {
  ...COMMON,
  paths: pathsOf('/messages'),
  upstreamPath: '/messages',
  asks: () => ({ ...ONE_WHOLE, isAssemblable: () => true }),
  isResumable: true,
  answer: {
    // A model that has nothing to add after a tool's result answers an empty list.
    createScan: () => createMemberScan({ content: ANY_LIST }),
    stream: {
      judge: (value) => judgeTyped(value, ENDS, hasContent),
      isLastChunk: (chunk) => isObject(chunk) && chunk['type'] === 'message_stop',
      createEmptyAnswer: () => null,
      createWatch: () => createTypedWatch(ENDS),
      createAssembly: createMessageAssembly,
      asksForUsage: false,
      asEvents: null,
      errorEvent,
      maxHeldBytes: 64 * 1024,
    },
    takesBytes: false,
  },
  support: 'translatable',
  translation: MESSAGES_TRANSLATION,
  withoutOwn: withoutUnsigned,
};

export const COUNT_TOKENS: ApiEndpoint = {
  ...COMMON,
  paths: pathsOf('/messages/count_tokens'),
  upstreamPath: '/messages/count_tokens',
  asks: () => ONE_WHOLE,
  isResumable: false,
  answer: {
    createScan: () => createMemberScan({ input_tokens: NUMBER }),
    stream: null,
    takesBytes: false,
  },
  support: 'translatable',
  withoutOwn: withoutUnsigned,
  estimate: countTokens,
};

/** A block's start counts unless text or thinking is to follow; so does a stop reason, even without any text. */
function hasContent(type: string, value: Readonly<Record<string, unknown>>): boolean {
  const { delta, content_block: block } = value;
  switch (type) {
    case 'content_block_start':
      return isObject(block) && block['type'] !== 'text' && block['type'] !== 'thinking';
    case 'content_block_delta':
      return isObject(delta) && Object.entries(delta).some(isFilled);
    case 'message_delta':
      return isObject(delta) && typeof delta['stop_reason'] === 'string';
    default:
      return false;
  }
}

function isFilled([key, value]: readonly [string, unknown]): boolean {
  return key !== 'type' && value !== '' && value !== null;
}

function errorEvent(error: HttpError): string {
  return `event: error\ndata: ${JSON.stringify(errorBody(error, 'anthropic'))}\n\n`;
}

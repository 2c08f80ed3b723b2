import { isObject, memberOf } from '../../../platform/json.ts';
import { anthropicError } from '../../http/errors.ts';
import {
  createMemberScan,
  endpointAt,
  ONE_WHOLE,
  repairedBy,
  type StandIn,
  wholeAnswer,
} from '../endpoint.ts';
import type { ProtocolTranslation } from '../translation/translation.ts';
import { typedEvent } from '../sse.ts';
import { type TypedEnds, createTypedWatch, judgeTyped } from '../typed-events.ts';
import { tokensIn } from '../tokens.ts';
import { MessageSteps } from './answers.ts';
import {
  createMessage,
  createMessageAssembly,
  createMessageRepair,
  repairedMessage,
} from './events.ts';
import { withoutOwn } from '../thoughts.ts';
import { toChat } from './request.ts';

export const MESSAGES_TRANSLATION: ProtocolTranslation = {
  toChat: (body) => toChat(body, true),
  stepsOf: (answer) => new MessageSteps(answer),
  wholeOf(events) {
    const message = createMessage();
    for (const event of events) message.add(event);
    return message.whole() ?? {};
  },
};

const isSuspect = (text: string) => text.includes('"tool_use"') || !text.includes('"usage"');

const ENDS: TypedEnds = { done: ['message_stop'], failed: ['error'] };

const COMMON = {
  required: { messages: 'list' },
  support: 'translatable',
  withoutOwn,
  vendor: 'anthropic',
} as const;

export const MESSAGES = endpointAt('/messages', {
  ...COMMON,
  asks: () => ({ ...ONE_WHOLE, isAssemblable: () => true }),
  isResumable: true,
  answer: {
    // A model that has nothing to add after a tool's result answers an empty list.
    createScan: () => createMemberScan({ content: 'any list' }),
    repaired: repairedBy(isSuspect, repairedMessage),
    stream: {
      judge: (value) => judgeTyped(value, ENDS, hasContent),
      createWatch: () => createTypedWatch(ENDS, createMessageRepair()),
      createAssembly: createMessageAssembly,
      sign: () => 'event: ping\ndata: {"type":"ping"}\n\n',
      errorEvent: (error) => typedEvent(anthropicError(error)),
      maxHeldBytes: 64 * 1024,
    },
  },
  translation: MESSAGES_TRANSLATION,
});

export const COUNT_TOKENS = endpointAt('/messages/count_tokens', {
  ...COMMON,
  answer: wholeAnswer({ input_tokens: 'number' }),
  estimate: countTokens,
});

/** A block's start counts unless text or thinking is to follow; so does a stop reason without any text, but for a call. */
function hasContent(type: string, value: Readonly<Record<string, unknown>>): boolean {
  const { delta, content_block: block } = value;
  const reason = memberOf(delta, 'stop_reason');
  switch (type) {
    case 'content_block_start':
      return isObject(block) && block['type'] !== 'text' && block['type'] !== 'thinking';
    case 'content_block_delta':
      return isObject(delta) && Object.entries(delta).some(isFilled);
    case 'message_delta':
      return typeof reason === 'string' && reason !== 'tool_use';
    default:
      return false;
  }
}

function isFilled([key, value]: readonly [string, unknown]): boolean {
  return key !== 'type' && value !== '' && value !== null;
}

/** An estimate: chat completions offer no way to count, and each model counts differently. */
function countTokens(body: unknown): StandIn {
  const translated = toChat(body, false);
  if (translated.kind !== 'chat') return translated;
  const { messages, tools } = translated.body;
  const json = JSON.stringify([messages, tools]);
  return { kind: 'answer', body: { input_tokens: tokensIn(Buffer.from(json)) } };
}

import { isObject, memberOf } from '../../../platform/json.ts';
import { anthropicError } from '../../http/errors.ts';
import {
  createMemberScan,
  endpointAt,
  ONE_WHOLE,
  repairedBy,
  requires,
  type StandIn,
  wholeAnswer,
} from '../endpoint.ts';
import { type ChatPart, textPart } from '../translation/conversation.ts';
import type { ProtocolTranslation } from '../translation/translation.ts';
import { typedEvent } from '../sse.ts';
import { type TypedEnds, createTypedWatch, judgeTyped } from '../typed-events.ts';
import { BYTES_PER_TOKEN } from '../usage.ts';
import { MessageSteps } from './answers.ts';
import {
  createMessage,
  createMessageAssembly,
  createMessageRepair,
  repairedMessage,
} from './events.ts';
import { withoutUnsigned } from './history.ts';
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
  checkBody: requires({ messages: 'list' }),
  support: 'translatable',
  withoutOwn: withoutUnsigned,
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

/** For the role and the separators of a message. */
const TOKENS_PER_MESSAGE = 4;
/** Of a PDF, as text and as a picture (docs.anthropic.com, PDF support), and the bytes of a usual page. */
const TOKENS_PER_PAGE = 2000;
const BYTES_PER_PAGE = 64 * 1024;
/** For an image of the size to which Anthropic scales larger ones down. */
const TOKENS_PER_IMAGE = 1600;

/** An estimate: chat completions offer no way to count, and each model counts differently. */
export function countTokens(body: unknown): StandIn {
  const translated = toChat(body, false);
  if (translated.kind !== 'chat') return translated;
  const { messages, tools } = translated.body;
  const tokens = messages.flatMap((message) => {
    const { content } = message;
    const calls = [memberOf(message, 'tool_calls'), memberOf(message, 'reasoning_content')];
    const parts = typeof content === 'string' ? [textPart(content)] : (content ?? []);
    return [TOKENS_PER_MESSAGE, ...calls.map(tokensOfValue), ...parts.map(tokensOfPart)];
  });
  const total = [...tokens, tokensOfValue(tools)].reduce((sum, each) => sum + each, 0);
  return { kind: 'answer', body: { input_tokens: Math.ceil(total) } };
}

const tokensOfText = (text: string) => Buffer.byteLength(text) / BYTES_PER_TOKEN;

const tokensOfValue = (value: unknown) =>
  value === undefined ? 0 : tokensOfText(JSON.stringify(value));

function tokensOfPart(part: ChatPart): number {
  if (part.type === 'text') return tokensOfText(part.text);
  // Base64 has four characters for three bytes.
  if (part.type === 'file')
    return Math.ceil((part.file.file_data.length * 0.75) / BYTES_PER_PAGE) * TOKENS_PER_PAGE;
  return part.type === 'image_url' ? TOKENS_PER_IMAGE : tokensOfValue(part);
}

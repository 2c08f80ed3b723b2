import { createChatReader, hearCompletion } from './chat.ts';
import type { Json } from './events.ts';
import type { Heard, Reader } from './heard.ts';
import { createMessagesReader, hearMessage } from './messages.ts';
import { createResponsesReader, hearResponse } from './responses.ts';

export type Protocol = 'chat' | 'messages' | 'responses';

/** Strict readers of the streams of each protocol. */
export const READERS: Readonly<Record<Protocol, () => Reader>> = {
  chat: createChatReader,
  messages: createMessagesReader,
  responses: createResponsesReader,
};
/** Strict readers of whole answers. */
export const HEARERS: Readonly<Record<Protocol, (body: Json) => Heard>> = {
  chat: hearCompletion,
  messages: hearMessage,
  responses: hearResponse,
};

export const PATHS: Readonly<Record<Protocol, string>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
};

import { MESSAGES_TRANSLATION } from '../../main/gateway/protocols/messages/endpoint.ts';
import { RESPONSES_TRANSLATION } from '../../main/gateway/protocols/responses/endpoint.ts';
import { STREAM_PROTOCOLS, type StreamProtocol } from './protocols.ts';

const [CHAT] = STREAM_PROTOCOLS;
if (CHAT === undefined) throw new Error('no chat completions');

/** Answers that chat clients get along with, and that no other protocol can be told of. */
const unusable = [...CHAT.unusable, { choices: [{ index: 0, message: { content: 'half' } }] }];

/** Endpoints that are served from chat completions. */
export const TRANSLATED_PROTOCOLS: readonly StreamProtocol[] = [
  {
    ...CHAT,
    name: 'translated responses',
    path: '/v1/responses',
    translation: RESPONSES_TRANSLATION,
    body: { input: 'hi' },
    endMark: 'event: response.completed',
    assembled: {
      status: 'completed',
      output: [{ type: 'message', content: [{ type: 'output_text', text: 'ab [DONE] ' }] }],
    },
    unusable,
  },
  {
    ...CHAT,
    name: 'translated messages',
    path: '/v1/messages',
    translation: MESSAGES_TRANSLATION,
    body: { model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] },
    endMark: 'event: message_stop',
    assembled: { stop_reason: 'end_turn', content: [{ type: 'text', text: 'ab [DONE] ' }] },
    unusable,
  },
];

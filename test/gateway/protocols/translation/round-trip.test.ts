import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MESSAGES_TRANSLATION } from '../../../../main/gateway/protocols/messages/endpoint.ts';
import { RESPONSES_TRANSLATION } from '../../../../main/gateway/protocols/responses/endpoint.ts';
import type { ProtocolTranslation } from '../../../../main/gateway/protocols/translation/translation.ts';
import { completionOf, saidArbitrary } from '../../../support/chat-answers.ts';
import { messagesRequest, responsesRequest } from './exchanges.ts';
import {
  messagesFromChat,
  responsesFromChat,
  saidInMessage,
  saidInResponse,
} from './translate-back.ts';

const EXCHANGE = { request: {}, id: 'x', createdAt: 1_700_000_000, model: 'asked', items: null };

function chatBody(protocol: ProtocolTranslation, request: unknown) {
  const translated = protocol.toChat(request, null);
  if (translated.kind !== 'chat') throw new Error(translated.message);
  return translated.body as Parameters<typeof responsesFromChat>[0];
}

function wholeAnswer(protocol: ProtocolTranslation, completion: object): object {
  const answer = protocol.answer(completion, EXCHANGE);
  if (answer.kind !== 'answer') throw new Error(answer.message);
  return answer.body;
}

describe('requests that are translated and translated back', () => {
  test('a Responses request that is translated and translated back is the same request', () => {
    fc.assert(
      fc.property(responsesRequest, (request) => {
        expect(responsesFromChat(chatBody(RESPONSES_TRANSLATION, request))).toEqual(request);
      }),
    );
  });

  test('a Messages request that is translated and translated back is the same request', () => {
    fc.assert(
      fc.property(messagesRequest, (request) => {
        expect(messagesFromChat(chatBody(MESSAGES_TRANSLATION, request))).toEqual(request);
      }),
    );
  });
});

describe('answers that are translated and translated back', () => {
  test('an answer of the Responses API that is translated and translated back is the same answer', () => {
    fc.assert(
      fc.property(saidArbitrary, (said) => {
        expect(saidInResponse(wholeAnswer(RESPONSES_TRANSLATION, completionOf(said)))).toEqual(
          said,
        );
      }),
    );
  });

  test('an answer of the Messages API that is translated and translated back is the same answer', () => {
    fc.assert(
      fc.property(saidArbitrary, (said) => {
        expect(saidInMessage(wholeAnswer(MESSAGES_TRANSLATION, completionOf(said)))).toEqual(said);
      }),
    );
  });
});

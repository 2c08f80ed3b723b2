import Anthropic, { APIError as AnthropicError } from '@anthropic-ai/sdk';
import * as fc from 'fast-check';
import OpenAI, { APIError as OpenAIError } from 'openai';
import { beforeEach, describe, expect, test } from 'vitest';
import { chunksOf, SAID, type Said, saidArbitrary } from '../../../support/chat-answers.ts';
import { type ScriptedChat, startTranslator } from '../../../support/translator.ts';

let chat: ScriptedChat;
let openai: OpenAI;
let anthropic: Anthropic;

beforeEach(async () => {
  const started = await startTranslator(SAID);
  chat = started.chat;
  openai = new OpenAI({ baseURL: `${started.url}/v1`, apiKey: 'k', maxRetries: 0 });
  anthropic = new Anthropic({ baseURL: started.url, apiKey: 'k', maxRetries: 0 });
});

const RUNS = { numRuns: 20 };

const ASKED = { model: 'asked', input: 'Hi' };
const WRITTEN = {
  model: 'asked',
  max_tokens: 100,
  messages: [{ role: 'user' as const, content: 'Hi' }],
};

/** Ids are made of the exchange's, which differs from request to request. */
function withoutIds(answer: object): unknown {
  return JSON.parse(
    JSON.stringify(answer).replaceAll(/"(resp|msg|rs|fc)_[0-9a-f-]{36}/g, '"$1'),
  ) as unknown;
}

describe('streamed answers that clients put together', () => {
  const each = fc.tuple(saidArbitrary, fc.integer({ min: 1, max: 20 }));

  test('a streamed answer that the OpenAI client puts together is the whole answer of the Responses API', async () => {
    await fc.assert(
      fc.asyncProperty(each, async ([said, pieceChars]) => {
        Object.assign(chat, { said, pieceChars });
        const whole = await openai.responses.create(ASKED);
        const streamed = await openai.responses.stream(ASKED).finalResponse();
        const { output_parsed: _parsed, ...rest } = streamed;
        expect(comparable(rest)).toEqual(comparable(whole));
      }),
      RUNS,
    );
  });

  test('a streamed answer that the Anthropic client puts together is the whole answer of the Messages API', async () => {
    await fc.assert(
      fc.asyncProperty(each, async ([said, pieceChars]) => {
        Object.assign(chat, { said, pieceChars });
        const whole = await anthropic.messages.create(WRITTEN);
        const streamed = await anthropic.messages.stream(WRITTEN).finalMessage();
        expect(comparable(streamed)).toEqual(comparable(whole));
      }),
      RUNS,
    );
  });
});

/** Clients add parsed values of their own to what came. */
function comparable(answer: object): unknown {
  return JSON.parse(
    JSON.stringify(withoutIds(answer), (key, value: unknown) =>
      key === 'parsed' || key === 'parsed_arguments' || key === 'parsed_output' ? undefined : value,
    ),
  ) as unknown;
}

describe('answers that are cut at any chunk', () => {
  const said: Said = {
    ...SAID,
    reasoning: 'Hm',
    calls: [{ id: 'call_1', name: 'look', arguments: '{"at":"it"}' }],
    finish: 'tool_calls',
  };
  const finishAt = chunksOf(said, 3).length - 2;

  test.each(Array.from({ length: finishAt + 1 }, (_, cut) => cut))(
    'a translated answer that is cut after chunk %i never ends as a success',
    async (cut) => {
      Object.assign(chat, { said, cutAfter: cut });
      await expect(openai.responses.stream(ASKED).finalResponse()).rejects.toThrow(OpenAIError);
      await expect(anthropic.messages.stream(WRITTEN).finalMessage()).rejects.toThrow(
        AnthropicError,
      );
    },
  );
});

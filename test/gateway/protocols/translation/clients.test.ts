import Anthropic from '@anthropic-ai/sdk';
import * as fc from 'fast-check';
import OpenAI from 'openai';
import { beforeEach, expect, test } from 'vitest';
import { SAID, saidArbitrary } from '../../../support/chat-answers.ts';
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

const each = fc.tuple(saidArbitrary, fc.integer({ min: 1, max: 20 }));

test('a streamed answer that the OpenAI client puts together is the whole answer of the Responses API', async () => {
  await fc.assert(
    fc.asyncProperty(each, async ([said, pieceChars]) => {
      Object.assign(chat, { said, pieceChars });
      const whole = await openai.responses.create(ASKED);
      const streamed = await openai.responses.stream(ASKED).finalResponse();
      expect(comparable(streamed)).toEqual(comparable(whole));
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

const PARSED = ['parsed', 'parsed_arguments', 'parsed_output', 'output_parsed'];

/**
 * Without the parsed values that clients add to what came, and the ids, which are made of the exchange's and so differ
 * from request to request.
 */
function comparable(answer: object): unknown {
  const text = JSON.stringify(answer, (key, value: unknown) =>
    PARSED.includes(key) ? undefined : value,
  );
  return JSON.parse(text.replaceAll(/"(resp|msg|rs|fc)_[0-9a-f-]{36}/g, '"$1'));
}

import { createOpenAI } from '@ai-sdk/openai';
import { generateText, stepCountIs, streamText } from 'ai';
import { describe, expect, test } from 'vitest';
import { SAID, type Said } from '../support/chat-answers.ts';
import { startSpeaker, WAYS } from '../support/speakers.ts';
import { weather } from '../support/weather.ts';

// The Vercel AI SDK, unmodified, over `@ai-sdk/openai` as it comes: its default is the Responses API.

const modelOf = (url: string) =>
  createOpenAI({ baseURL: `${url}/v1`, apiKey: 'of-the-caller' })('my-model');

const ONCE = { prompt: 'hi', maxRetries: 0 } as const;

const CALLS: Said = {
  ...SAID,
  text: 'Let me see.',
  calls: [{ id: 'call_1', name: 'weather', arguments: '{"city":"Oslo"}' }],
  finish: 'tool_calls',
};

describe.each(WAYS)('the AI SDK’s responses, $way through $place', (way) => {
  test(`a text with its usage comes to the AI SDK through ${way.place} (${way.way}), plain and streamed`, async () => {
    const model = modelOf((await startSpeaker(way, SAID)).url);
    const { text, finishReason, usage } = await generateText({ model, ...ONCE });
    expect([text, finishReason]).toEqual(['Hello.', 'stop']);
    expect(usage).toMatchObject({ inputTokens: 12, outputTokens: 7 });
    const pieces: string[] = [];
    const streamed = streamText({ model, ...ONCE });
    for await (const piece of streamed.textStream) pieces.push(piece);
    expect([pieces.join(''), await streamed.finishReason]).toEqual(['Hello.', 'stop']);
  });

  test.each(['generateText', 'streamText'])(
    `a tool runs in %s through ${way.place} (${way.way}), and so does the turn after it`,
    async (how) => {
      const { url, bodies } = await startSpeaker(way, CALLS, { ...SAID, text: 'Rain.' });
      const asked: unknown[] = [];
      const tools = { weather: weather(asked) };
      const ask = { model: modelOf(url), ...ONCE, tools, stopWhen: stepCountIs(2) };
      const text =
        how === 'generateText' ? (await generateText(ask)).text : await streamText(ask).text;
      expect([text, asked]).toEqual(['Rain.', [{ city: 'Oslo' }]]);
      // The SDK refers to its own earlier answer by the id of the item.
      expect(bodies()[1]?.['messages']).toMatchObject([
        { role: 'user' },
        { role: 'assistant', content: 'Let me see.', tool_calls: [{ id: 'call_1' }] },
        { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
      ]);
    },
  );
});

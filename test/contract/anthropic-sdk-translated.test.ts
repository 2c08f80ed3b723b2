import { Anthropic, APIError, BadRequestError } from '@anthropic-ai/sdk';
import { describe, expect, test } from 'vitest';
import { calledTwice, CALLS_TWICE, SAID, type Said } from '../support/chat-answers.ts';
import { startChatOnly, startSpeaker, WAYS } from '../support/speakers.ts';
import { chunk, cut, error, ROLE, type Script } from '../support/upstream.ts';

// The `@anthropic-ai/sdk` package, unmodified, at upstreams with the Messages API and without it.

const clientOf = (url: string) =>
  new Anthropic({ baseURL: url, apiKey: 'of-the-caller', maxRetries: 0 });

const ASK = {
  model: 'm',
  max_tokens: 16,
  messages: [{ role: 'user' as const, content: 'hi' }],
};

const WEATHER = {
  name: 'weather',
  input_schema: { type: 'object' as const, properties: { city: { type: 'string' } } },
};

const CALLS: Said = { ...CALLS_TWICE, text: 'Let me see.' };

describe.each(WAYS)('Anthropic’s client, $way through $place', (way) => {
  test(`a message with its usage comes through ${way.place} (${way.way}), plain and streamed`, async () => {
    const { url } = await startSpeaker(way, SAID);
    const client = clientOf(url);
    const whole = await client.messages.create(ASK);
    expect(whole).toMatchObject({
      content: [{ type: 'text', text: 'Hello.' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 8, cache_read_input_tokens: 4, output_tokens: 7 },
    });
    const stream = client.messages.stream(ASK);
    const texts: string[] = [];
    stream.on('text', (text) => void texts.push(text));
    expect((await stream.finalMessage()).content).toMatchObject(whole.content);
    expect(texts.join('')).toBe('Hello.');
  });

  test(`parallel tool calls with thinking come through ${way.place} (${way.way}), and so does the turn after their results`, async () => {
    const { url, bodies } = await startSpeaker(way, CALLS, { ...SAID, text: 'Rain.' });
    const client = clientOf(url);
    const asked = { ...ASK, tools: [WEATHER] };
    const first = await client.messages.stream(asked).finalMessage();
    expect(first.stop_reason).toBe('tool_use');
    const calls = first.content.filter((block) => block.type === 'tool_use');
    expect(calls.map(({ input }) => input)).toEqual([{ city: 'Oslo' }, { city: 'Bergen' }]);
    const results = calls.map(({ id }) => ({
      type: 'tool_result' as const,
      tool_use_id: id,
      content: 'rain',
    }));
    const second = await client.messages.create({
      ...asked,
      messages: [
        ...ASK.messages,
        { role: 'assistant', content: first.content },
        { role: 'user', content: results },
      ],
    });
    expect(second.content).toMatchObject([{ type: 'text', text: 'Rain.' }]);
    expect(bodies()[1]?.['messages']).toMatchObject(calledTwice(way));
  });

  test(`an image and a system text go to ${way.place} (${way.way})`, async () => {
    const { url, bodies } = await startSpeaker(way, SAID);
    const source = { type: 'base64' as const, media_type: 'image/png' as const, data: 'AA==' };
    const messages = [{ role: 'user' as const, content: [{ type: 'image' as const, source }] }];
    await clientOf(url).messages.create({ ...ASK, system: 'Be brief.', messages });
    expect(bodies()[0]?.['messages']).toMatchObject([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ image_url: { url: 'data:image/png;base64,AA==' } }] },
    ]);
  });

  test(`the number of tokens comes through ${way.place} (${way.way})`, async () => {
    const { url } = await startSpeaker(way, SAID);
    const { model, messages } = ASK;
    const { input_tokens: count } = await clientOf(url).messages.countTokens({ model, messages });
    expect(count).toBeGreaterThan(0);
  });
});

/** A client of a gateway in front of an upstream that speaks chat completions. */
async function startChat(script: Script) {
  const { upstream, url } = await startChatOnly(script);
  return { upstream, client: clientOf(url) };
}

test('a translated message that breaks off makes Anthropic’s client throw', async () => {
  const { client } = await startChat(cut(ROLE, chunk({ content: 'half' })));
  await expect(client.messages.stream(ASK).finalMessage()).rejects.toThrow(/broke off/);
});

test('errors of translated messages have the classes of Anthropic’s client', async () => {
  const { upstream, client } = await startChat(error(400, 'bad temperature'));
  const refused = client.messages.create(ASK);
  await expect(refused).rejects.toThrow(BadRequestError);
  await expect(refused).rejects.toThrow(/bad temperature/);
  const tools = [{ type: 'web_search_20250305' as const, name: 'web_search' as const }];
  const search = client.messages.create({ ...ASK, tools });
  await expect(search).rejects.toThrow(/'tools\[0\]\.type'/);
  upstream.script = error(503);
  await expect(client.messages.create(ASK)).rejects.toThrow(APIError);
});

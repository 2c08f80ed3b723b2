import { BadRequestError, InternalServerError, OpenAI } from 'openai';
import { describe, expect, test } from 'vitest';
import { calledTwice, CALLS_TWICE, SAID } from '../support/chat-answers.ts';
import { startChatOnly, startSpeaker, WAYS } from '../support/speakers.ts';
import { chunk, cut, error, ROLE } from '../support/upstream.ts';

// The `openai` package, unmodified: its Responses API, at upstreams that have it and at those that do not.

const clientOf = (url: string) =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: 'of-the-caller', maxRetries: 0 });

const WEATHER = {
  type: 'function' as const,
  name: 'weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
  strict: false,
};

const ASK = { model: 'm', input: 'hi' };

describe.each(WAYS)('OpenAI’s responses, $way through $place', (way) => {
  test(`a response with its usage comes through ${way.place} (${way.way}), plain and streamed`, async () => {
    const { url } = await startSpeaker(way, SAID);
    const client = clientOf(url);
    const whole = await client.responses.create(ASK);
    expect([whole.output_text, whole.status]).toEqual(['Hello.', 'completed']);
    expect(whole.usage).toMatchObject({ input_tokens: 12, output_tokens: 7, total_tokens: 19 });
    const stream = client.responses.stream(ASK);
    const pieces: string[] = [];
    stream.on('response.output_text.delta', ({ delta }) => void pieces.push(delta));
    const streamed = await stream.finalResponse();
    expect([pieces.join(''), streamed.output_text]).toEqual(['Hello.', 'Hello.']);
    expect(streamed.usage).toEqual(whole.usage);
  });

  test(`parallel tool calls come through ${way.place} (${way.way}), and so does the turn after their results`, async () => {
    const { url, bodies } = await startSpeaker(way, CALLS_TWICE, { ...SAID, text: 'Rain.' });
    const client = clientOf(url);
    const first = await client.responses.stream({ ...ASK, tools: [WEATHER] }).finalResponse();
    const calls = first.output.filter((item) => item.type === 'function_call');
    expect(calls.map(({ call_id: id, arguments: args }) => [id, JSON.parse(args)])).toEqual([
      ['call_1', { city: 'Oslo' }],
      ['call_2', { city: 'Bergen' }],
    ]);
    const results = calls.map(({ call_id: id }) => ({
      type: 'function_call_output' as const,
      call_id: id,
      output: 'rain',
    }));
    // Its type has items that no answer holds.
    const said = first.output as OpenAI.Responses.ResponseInput;
    const input = [{ role: 'user' as const, content: 'hi' }, ...said, ...results];
    const second = await client.responses.create({ ...ASK, tools: [WEATHER], input });
    expect(second.output_text).toBe('Rain.');
    expect(bodies()[1]?.['messages']).toMatchObject(calledTwice(way));
  });
});

test('a translated response that breaks off makes the client throw', async () => {
  const { url } = await startChatOnly(cut(ROLE, chunk({ content: 'half' })));
  const client = clientOf(url);
  const types: string[] = [];
  const read = async () => {
    for await (const { type } of await client.responses.create({ ...ASK, stream: true })) {
      types.push(type);
    }
  };
  await expect(read()).rejects.toThrow(/broke off/);
  expect(types).not.toContain('response.completed');
});

test('errors of translated responses have the client’s classes', async () => {
  const { upstream, url } = await startChatOnly(error(400, 'bad temperature', 'bad_value'));
  const client = clientOf(url);
  const refused = client.responses.create(ASK);
  await expect(refused).rejects.toThrow(BadRequestError);
  await expect(refused).rejects.toMatchObject({ code: 'bad_value' });
  const state = client.responses.create({ ...ASK, previous_response_id: 'resp_1' });
  await expect(state).rejects.toMatchObject({ status: 400, param: 'previous_response_id' });
  upstream.script = error(503);
  await expect(client.responses.create(ASK)).rejects.toThrow(InternalServerError);
});

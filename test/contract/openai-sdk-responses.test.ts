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

  test(`structured output and an image pass through ${way.place} (${way.way})`, async () => {
    const { url, bodies } = await startSpeaker(way, { ...SAID, text: '{"a":1}' });
    const schema = { type: 'object', properties: { a: { type: 'number' } } };
    const format = { type: 'json_schema' as const, name: 'a', schema };
    const image = { type: 'input_image' as const, image_url: 'data:image/png;base64,AA==' };
    const content = [{ ...image, detail: 'auto' as const }];
    const asked = { ...ASK, input: [{ role: 'user' as const, content }], text: { format } };
    const { output_text: text } = await clientOf(url).responses.create(asked);
    expect(JSON.parse(text)).toEqual({ a: 1 });
    expect(bodies()[0]).toMatchObject({
      messages: [{ content: [{ type: 'image_url', image_url: { url: image.image_url } }] }],
      response_format: { type: 'json_schema', json_schema: { name: 'a', schema } },
    });
  });

  test(`an answer that reached its limit is incomplete through ${way.place} (${way.way})`, async () => {
    const { url } = await startSpeaker(way, { ...SAID, finish: 'length' });
    const { status, incomplete_details: why } = await clientOf(url).responses.create(ASK);
    expect([status, why?.reason]).toEqual(['incomplete', 'max_output_tokens']);
  });
});

test.each(WAYS.filter(({ way }) => way === 'translated'))(
  'a tool call without arguments can be parsed through $place ($way), plain and streamed',
  async (way) => {
    const calls = [{ id: 'call_1', name: 'weather', arguments: '' }];
    const said = { ...SAID, text: '', calls, finish: 'tool_calls' as const };
    const client = clientOf((await startSpeaker(way, said)).url);
    const asked = { ...ASK, tools: [WEATHER] };
    const whole = await client.responses.create(asked);
    const streamed = await client.responses.stream(asked).finalResponse();
    expect([whole.output, streamed.output]).toMatchObject([
      [{ type: 'function_call', arguments: '{}' }],
      [{ type: 'function_call', arguments: '{}' }],
    ]);
  },
);

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

import { describe, expect, test } from 'vitest';
import { SAID, type Reply } from '../support/chat-answers.ts';
import { rejectionOf } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { startChatOnly, startSpeaker, WAYS } from '../support/speakers.ts';
import { chunk, cut, error, ROLE, stall, type Script } from '../support/upstream.ts';
import { AGENTS } from './agents.ts';
import { IMAGE, type Client } from './client.ts';
import { LANGCHAIN } from './langchain.ts';
import { LLAMAINDEX } from './llamaindex.ts';

// Clients that are too large to be installed with everything else, unmodified: one table of tests for all.

const CLIENTS = [...AGENTS, ...LANGCHAIN, ...LLAMAINDEX];

const CALLS: Reply = {
  ...SAID,
  text: '',
  calls: [{ id: 'call_1', name: 'weather', arguments: '{"city":"Oslo"}' }],
  finish: 'tool_calls',
};

const baseOf = ({ url }: { readonly url: string }) => `${url}/v1`;

/** Chat completions have one way at each place: as they are. */
const waysOf = ({ api }: Client) => WAYS.filter(({ way }) => api !== 'chat' || way !== 'native');

const cases = CLIENTS.flatMap((client) =>
  waysOf(client).map((way) => ({ client, way, named: `${client.name} asks ${client.api}` })),
);

describe.each(cases)('$named of $way.place, $way.way', ({ client, way, named }) => {
  test(`${named} of ${way.place}, ${way.way}, for a text, plain and streamed`, async () => {
    const base = baseOf(await startSpeaker(way, SAID));
    expect(await client.text(base)).toBe('Hello.');
    const pieces: string[] = [];
    for await (const piece of client.stream(base, new AbortController().signal)) pieces.push(piece);
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.join('')).toBe('Hello.');
  });

  test(`${named} of ${way.place}, ${way.way}, for a tool, and continues after its result`, async () => {
    const speaker = await startSpeaker(way, CALLS, { ...SAID, text: 'Rain.' });
    const cities: string[] = [];
    const weather = (city: string) => {
      cities.push(city);
      return 'rain';
    };
    expect(await client.withTool(baseOf(speaker), weather)).toBe('Rain.');
    expect(cities).toEqual(['Oslo']);
    expect(speaker.bodies()[1]?.['messages']).toMatchObject([
      { role: 'user' },
      { role: 'assistant', tool_calls: [{ id: 'call_1' }] },
      { role: 'tool', tool_call_id: 'call_1', content: expect.stringContaining('rain') },
    ]);
  });

  test(`${named} of ${way.place}, ${way.way}, for structured output`, async () => {
    const speaker = await startSpeaker(way, { ...SAID, text: '{"a":1}' });
    expect(await client.structured(baseOf(speaker))).toEqual({ a: 1 });
    expect(speaker.bodies()[0]?.['response_format']).toMatchObject({ type: 'json_schema' });
  });

  test(`${named} of ${way.place}, ${way.way}, with an image`, async () => {
    const speaker = await startSpeaker(way, SAID);
    expect(await client.image(baseOf(speaker))).toBe('Hello.');
    expect(JSON.stringify(speaker.bodies()[0])).toContain(IMAGE);
  });
});

/** A gateway in front of an upstream that speaks chat completions. */
async function startChat(script: Script) {
  const { upstream, url } = await startChatOnly(script);
  return { upstream, base: baseOf({ url }) };
}

const thrownBy = async (asked: Promise<unknown>) => (await rejectionOf(asked)) as Error | null;

describe.each(CLIENTS)('$name that asks $api', (client) => {
  test(`${client.name} that asks ${client.api} throws if a stream breaks off`, async () => {
    const { base } = await startChat(cut(ROLE, chunk({ content: 'half' })));
    const pieces: string[] = [];
    const read = async () => {
      const { signal } = new AbortController();
      for await (const piece of client.stream(base, signal)) pieces.push(piece);
    };
    await expect(read()).rejects.toThrow(/broke off/);
    expect(pieces.join('')).toBe('half');
  });

  test(`${client.name} that asks ${client.api} takes its call along when it aborts`, async () => {
    const { upstream, base } = await startChat(stall(ROLE, chunk({ content: 'half' })));
    const abort = new AbortController();
    for await (const piece of client.stream(base, abort.signal)) {
      expect(piece).toBe('half');
      abort.abort();
      break;
    }
    await upstream.gone(1);
  });

  test.each([
    { status: 400, name: 'BadRequestError', words: 'bad temperature' },
    { status: 422, name: 'UnprocessableEntityError', words: 'bad temperature' },
    { status: 503, name: 'InternalServerError', words: 'hosted_a' },
  ])(
    `${client.name} that asks ${client.api} has its own class for $status`,
    async ({ status, name, words }) => {
      const { base } = await startChat(error(status, 'bad temperature'));
      const thrown = await thrownBy(client.text(base));
      expect([thrown?.constructor.name, thrown]).toMatchObject([name, { status }]);
      expect(thrown?.message).toContain(words);
    },
  );

  test(`${client.name} that asks ${client.api} has its own classes for a wrong key and for a rate limit`, async () => {
    const { base } = await startChat(error(429, 'slow down', null, { 'retry-after': '7' }));
    const limited = await thrownBy(client.text(base));
    expect([limited?.constructor.name, limited]).toMatchObject(['RateLimitError', { status: 429 }]);
    const closed = await startGateway({ API_KEYS: 'a-key-of-the-gateway' });
    const refused = await thrownBy(client.text(baseOf(closed)));
    expect([refused?.constructor.name, refused]).toMatchObject([
      'AuthenticationError',
      { status: 401, code: 'invalid_api_key' },
    ]);
  });
});

import { describe, expect, test } from 'vitest';
import { SAID } from '../support/chat-answers.ts';
import { chatStream, startCall } from '../support/client.ts';
import { PATHS } from '../support/readers/readers.ts';
import { startBetween, WAYS } from './between.ts';
import { ask, inEach, PROTOCOLS, type Protocol, QUESTIONS } from './caller.ts';
import type { Json } from './system.ts';
import { DONE, eventsOf, part, saying } from './speech.ts';

const schema = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer' } },
  required: ['city'],
};
const weather = { name: 'weather', description: 'x' };

/** What each protocol offers. */
const OFFERS: Readonly<Record<Protocol, Json>> = {
  chat: { tools: [{ type: 'function', function: { ...weather, parameters: schema } }] },
  messages: { tools: [{ ...weather, input_schema: schema }] },
  responses: { tools: [{ ...weather, type: 'function', parameters: schema }] },
};

const CALLS = [{ city: 'Oslo', days: 2 }, { city: 'Rome' }];
const LEAK = CALLS.map(
  (args) => `<tool_call>\n${JSON.stringify({ name: 'weather', arguments: args })}\n</tool_call>`,
).join('\n');
const leaking = (text: string, more = {}) => saying({ ...SAID, text, ...more }, {});

describe.each(inEach(WAYS.filter((way) => way !== 'whole').map((way) => ({ way }))))(
  '$way in $protocol',
  ({ way, protocol }) => {
    const isStream = way === 'streamed';
    const more = OFFERS[protocol];

    test('tool calls that a local model wrote into its text are real calls', async () => {
      const auto = { LOCAL_PROTOCOLS: 'auto' };
      const { url, gateway } = await startBetween('local', leaking(`I look.\n${LEAK}`), auto);
      const told = await ask(url, { protocol, isStream, more });
      const calls = told.calls.map(({ name, arguments: json }) => ({
        name,
        arguments: JSON.parse(json) as unknown,
      }));
      expect({ ...told, calls }).toMatchObject({
        upstream: 'local',
        text: 'I look.\n',
        calls: CALLS.map((args) => ({ name: 'weather', arguments: args })),
        finish: 'tool_calls',
        end: 'whole',
        faults: [],
      });
      expect(new Set(told.calls.map(({ id }) => id)).size).toBe(2);
      const [row] = gateway.host.snapshot().requests;
      expect(row?.attempts[0]?.repairedCalls).toBe(2);
    });

    test.each<[what: string, text: string, fields: Json, settings: Record<string, string>]>([
      ['with prose behind it', `${LEAK}\nThat is how.`, more, {}],
      ['in a code fence', `\`\`\`\n${LEAK}\n\`\`\``, more, {}],
      ['of a tool that is not offered', LEAK.replaceAll('weather', 'news'), more, {}],
      ['that the tool does not take', LEAK.replaceAll(/"(Oslo|Rome)"/g, '7'), more, {}],
      ['where no tool is offered', LEAK, {}, {}],
      ['where it is switched off', LEAK, more, { RESCUE_TOOL_CALLS: 'off' }],
    ])('a tool call in the text stays text %s', async (_what, text, fields, settings) => {
      const { url, gateway } = await startBetween('local', leaking(text), settings);
      const told = await ask(url, { protocol, isStream, more: fields });
      expect(told).toMatchObject({
        upstream: 'local',
        text,
        calls: [],
        finish: 'stop',
        faults: [],
      });
      const [row] = gateway.host.snapshot().requests;
      expect(row?.attempts[0]).not.toHaveProperty('repairedCalls');
    });
  },
);

test('neither a hosted upstream’s text nor an answer that was cut off is taken for calls', async () => {
  const more = OFFERS.chat;
  const hosted = await startBetween('hosted_a', leaking(LEAK));
  const cut = await startBetween('local', leaking(LEAK, { finish: 'length' }));
  for (const { url } of [hosted, cut]) {
    for (const isStream of [true, false]) {
      const told = await ask(url, { protocol: 'chat', isStream, more });
      expect(told).toMatchObject({ text: LEAK, calls: [], faults: [] });
    }
  }
});

test.each(PROTOCOLS)(
  'a caller of %s has comments while a call is held, and learns how many were repaired',
  async (protocol) => {
    const { url } = await startBetween('local', leaking(LEAK));
    const asked = { ...QUESTIONS[protocol], ...OFFERS[protocol] };
    const path = PATHS[protocol];
    const whole = await startCall(url + path, asked).answer;
    expect(whole.headers['x-gateway-repaired']).toBe('tool_calls=2');
    const pending = startCall(url + path, { ...asked, stream: true });
    // Clients give up in silence, and a long call takes minutes.
    expect((await pending.answer).text).toContain('\n\n:\n\n:\n\n');
    expect((await pending.head).trailers).toEqual({ 'x-gateway-repaired': 'tool_calls=2' });
  },
);

test.each<
  [protocol: 'messages' | 'responses', what: string, fields: Json, settings: object, Protocol]
>(
  (['messages', 'responses'] as const).flatMap((protocol) => {
    const more = OFFERS[protocol];
    const none = protocol === 'messages' ? { type: 'none' } : 'none';
    return [
      [protocol, 'offers a tool', more, {}, 'chat'],
      [protocol, 'offers none', {}, {}, protocol],
      [protocol, 'wants none called', { ...more, tool_choice: none }, {}, protocol],
      [protocol, 'has nothing rescued', more, { RESCUE_TOOL_CALLS: 'off' }, protocol],
      [protocol, 'has an owner who wants it native', more, { LOCAL_PROTOCOLS: 'native' }, protocol],
    ];
  }),
)(
  'a request of %s that %s is put to an own engine in the protocol that is rescued, or its own',
  async (protocol, _what, fields, settings, wanted) => {
    const all = { LOCAL_PROTOCOLS: 'auto', ...settings };
    const { url, system } = await startBetween('local', saying(SAID, {}), all);
    await ask(url, { protocol, isStream: true, more: fields });
    expect(system.calls[0]?.path).toBe(PATHS[wanted]);
  },
);

test('a stream passes on each event of text as it came, and of a tool call that its engine reads', async () => {
  const call = {
    index: 0,
    id: 'call_1',
    type: 'function',
    function: { name: 'weather', arguments: '{}' },
  };
  const chunks = ['If a < b', ' then [1]', ' {x} holds', '.'].map((content) => part({ content }));
  const events = [...chunks, part({ tool_calls: [call] }), part({}, 'tool_calls'), DONE];
  const { url } = await startBetween('local', ({ res }) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' }).end(eventsOf(events, {}));
  });
  const body = { ...QUESTIONS.chat, ...OFFERS.chat };
  expect((await chatStream(url, body)).text).toBe(eventsOf(events, {}));
});

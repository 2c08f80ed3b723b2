import { expect, test } from 'vitest';
import { SAID } from '../support/chat-answers.ts';
import { startBetween } from './between.ts';
import { ask } from './caller.ts';
import { DONE, saying } from './speech.ts';

const schema = { type: 'object', properties: {} };
/** 76 characters, as of an MCP server: OpenAI and Azure take 64. */
const LONG = `mcp__${'server_of_a_company_'.repeat(3)}__lookup_it`;
/** They take letters, digits, `_` and `-`. */
const ODD = ['files.read', 'github/issues/list', 'wetter_für_Ålesund_天気', '🔧'.repeat(40)];
const SPACE = 'mcp__server_of_a_company_that_has_many__';
const INNER = 'look_up_whatever_there_is_to_be_known';

const messages = (name: string) => ({
  protocol: 'messages' as const,
  name,
  more: {
    tools: [{ name, input_schema: schema }],
    tool_choice: { type: 'tool', name },
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'call_9', name, input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_9', content: 'x' }] },
    ],
  },
});

const responses = (name: string, tool: object, called: object = {}) => ({
  protocol: 'responses' as const,
  name,
  more: {
    tools: [tool],
    input: [
      { role: 'user', content: 'hi' },
      { type: 'function_call', call_id: 'call_9', name, arguments: '{}', ...called },
      { type: 'function_call_output', call_id: 'call_9', output: 'x' },
    ],
  },
});
const tool = (name: string) => ({ type: 'function', name, parameters: schema });

const CASES = [
  ...[LONG, ...ODD].flatMap((name) => [messages(name), responses(name, tool(name))]),
  // github.com/openai/codex/issues/46358: each part is short enough, and both together are not.
  responses(INNER, { type: 'namespace', name: SPACE, tools: [tool(INNER)] }, { namespace: SPACE }),
];

/** Every name in a body that an upstream was sent. */
const namesIn = (body: unknown) =>
  [...JSON.stringify(body).matchAll(/"name":"([^"]+)"/g)].map(([, name]) => name ?? '');

test.each(CASES.flatMap((each) => [true, false].map((isStream) => ({ ...each, isStream }))))(
  'a tool name that hosts refuse is another at its upstream and its own at its caller: $name in $protocol, streamed: $isStream',
  async ({ protocol, name, more, isStream }) => {
    const { url, system } = await startBetween('hosted_a', (call) => {
      const [called = ''] = namesIn(call.json['tools']);
      const calls = [{ id: 'call_1', name: called, arguments: '{"a":1}' }];
      return saying({ ...SAID, text: '', calls, finish: 'tool_calls' }, {})(call);
    });
    const told = await ask(url, { protocol, isStream, more });
    expect(told).toMatchObject({ upstream: 'hosted_a', calls: [{ name }], faults: [] });
    const sent = new Set(namesIn(system.calls[0]?.json));
    expect([...sent]).toEqual([expect.stringMatching(/^[\w-]{10,64}$/)]);
  },
);

test('a tool name that hosts refuse stays unchanged for an upstream that speaks the protocol', async () => {
  const { more } = messages(LONG);
  const native = { HOSTED_A_PROTOCOLS: 'native' };
  const { url, system } = await startBetween('hosted_a', ({ res }) => void res.end(DONE), native);
  await ask(url, { protocol: 'messages', isStream: false, more });
  expect(new Set(namesIn(system.calls[0]?.json))).toEqual(new Set([LONG]));
});

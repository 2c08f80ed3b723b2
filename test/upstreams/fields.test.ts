import { expect, test } from 'vitest';
import { SAID } from '../support/chat-answers.ts';
import { json, type Script } from '../support/upstream.ts';
import { startBetween } from './between.ts';
import { ask, type Protocol } from './caller.ts';
import { google, openAi } from './refused.ts';
import { saying } from './speech.ts';
import type { Json, System } from './system.ts';

const schema = { type: 'object', properties: {}, additionalProperties: false };
const chatTool = { type: 'function', function: { name: 'weather', parameters: schema } };
const called = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } };

/** Requests as agents send them in the middle of their work. */
const AGENTS: Readonly<Record<string, readonly [Protocol, Json]>> = {
  'Claude Code': [
    'messages',
    {
      max_tokens: 32_000,
      system: [{ type: 'text', text: 'Be good.', cache_control: { type: 'ephemeral' } }],
      tools: [{ name: 'weather', description: 'w', input_schema: schema }],
      thinking: { type: 'adaptive' },
      output_config: { effort: 'high' },
      context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
      metadata: { user_id: 'u'.repeat(150) },
      temperature: 1,
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'hi' }] },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm.', signature: 's' },
            { type: 'tool_use', id: 'call_1', name: 'weather', input: {} },
          ],
        },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'rain' }],
        },
        { role: 'system', content: 'The file has changed.' },
      ],
    },
  ],
  Codex: [
    'responses',
    {
      instructions: 'Be good.',
      tools: [{ type: 'function', name: 'weather', parameters: schema }],
      tool_choice: 'auto',
      parallel_tool_calls: false,
      reasoning: { effort: 'medium', summary: 'auto' },
      store: false,
      include: ['reasoning.encrypted_content'],
      prompt_cache_key: 'k',
      text: { verbosity: 'low' },
      service_tier: 'auto',
      input: [
        { role: 'developer', content: 'Be brief.' },
        { role: 'user', content: 'hi' },
        { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{}' },
        { type: 'function_call_output', call_id: 'call_1', output: 'rain' },
      ],
    },
  ],
  Cline: [
    'chat',
    {
      temperature: 0,
      max_completion_tokens: 8192,
      reasoning_effort: 'low',
      messages: [
        { role: 'developer', content: 'Be good.' },
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: '' },
        { role: 'user', content: 'hi?' },
      ],
    },
  ],
  OpenCode: [
    'chat',
    {
      max_tokens: 32_000,
      tools: [chatTool],
      tool_choice: 'auto',
      prompt_cache_key: 'k',
      store: false,
      top_p: 1,
      messages: [
        { role: 'system', content: 'Be good.' },
        { role: 'user', content: 'hi' },
        {
          role: 'assistant',
          content: null,
          reasoning_content: 'Hm.',
          annotations: [],
          tool_calls: [{ index: 0, ...called }],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
      ],
    },
  ],
};

interface Host {
  readonly place?: System['place'];
  readonly status?: number;
  /** Paths of what it does not take, without places in lists. */
  readonly refuses: readonly string[];
  readonly says: (paths: readonly string[]) => Json | readonly Json[];
}

const pydantic = (paths: readonly string[]): Json => ({
  detail: paths.map((path) => ({
    type: 'extra_forbidden',
    loc: ['body', ...path.split('.')],
    msg: 'Extra inputs are not permitted',
  })),
});
const NEW = ['store', 'prompt_cache_key', 'service_tier', 'verbosity', 'user', 'safety_identifier'];
const IN_TURNS = [
  'messages.reasoning_content',
  'messages.annotations',
  'messages.tool_calls.index',
];
const one =
  (words: (path: string) => string) =>
  ([path = '']: readonly string[]) =>
    openAi(words(path), null);

const HOSTS: Readonly<Record<string, Host>> = {
  OpenAI: {
    refuses: ['max_tokens', 'temperature', 'top_p', ...IN_TURNS],
    says: one((path) => `Unsupported parameter: '${path}' is not supported with this model.`),
  },
  Azure: {
    refuses: [...NEW, 'reasoning_effort', 'parallel_tool_calls', 'max_tokens'],
    says: one((path) => `Unrecognized request argument supplied: ${path}`),
  },
  Mistral: {
    status: 422,
    refuses: [...NEW, ...IN_TURNS, 'reasoning_effort', 'max_completion_tokens', 'stream_options'],
    says: (paths) => ({ object: 'error', message: pydantic(paths) }),
  },
  Gemini: {
    refuses: [...NEW, 'top_k', 'tools.function.parameters.additionalProperties'],
    says([path = '']) {
      const [name, ...around] = path.split('.').toReversed();
      const place = around.length === 0 ? '' : ` at 'tools[0].function_declarations[0].parameters'`;
      const words = `Invalid JSON payload received. Unknown name "${name}"${place}: Cannot find field.`;
      return google(400, words, 'INVALID_ARGUMENT');
    },
  },
  Groq: {
    refuses: [...NEW, ...IN_TURNS],
    says: one((path) => `'messages.1' : property '${path.split('.').at(-1)}' is unsupported`),
  },
  vLLM: { place: 'local', refuses: [...NEW, ...IN_TURNS], says: pydantic },
};

const at = (value: unknown, [name = '', ...inner]: readonly string[]): boolean => {
  if (Array.isArray(value)) return value.some((each) => at(each, [name, ...inner]));
  const held = (value as Json | null)?.[name];
  return inner.length === 0 ? held !== undefined : at(held, inner);
};

const strict =
  ({ refuses, says, status = 400 }: Host): Script =>
  (call) => {
    const named = refuses.filter((path) => at(call.json, path.split('.')));
    return (named.length === 0 ? saying(SAID, {}) : json(status, says(named)))(call);
  };

const PAIRS = Object.entries(HOSTS).flatMap(([name, host]) =>
  Object.entries(AGENTS).map(([agent, [protocol, more]]) => ({
    name,
    host,
    agent,
    protocol,
    more,
  })),
);

test.each(PAIRS)(
  '$name answers $agent, whatever fields it refuses, and is not asked for them again',
  async ({ host, protocol, more }) => {
    const { url, system, next } = await startBetween(host.place ?? 'hosted_a', strict(host));
    const question = { protocol, isStream: true, more };
    const told = { status: 200, text: SAID.text, faults: [] };
    expect(await ask(url, question)).toMatchObject(told);
    const sent = system.calls.length;
    expect(await ask(url, { ...question, isStream: false })).toMatchObject(told);
    expect([system.calls.length - sent, next.calls.length]).toEqual([1, 0]);
  },
);

/** What systems say of whole requests rather than of fields. */
const WORDS: readonly (readonly [string, System['place'], number, string, RegExp])[] = [
  [
    'Ollama, whose model does not think',
    'local',
    400,
    '"m" does not support thinking',
    /reasoning_effort/,
  ],
  [
    'llama.cpp, whose template hears the system first',
    'local',
    500,
    'System message must be at the beginning.',
    /user.*"(system|developer)"/,
  ],
  [
    'DeepSeek, which knows no developer',
    'hosted_a',
    400,
    'unknown variant `developer`, expected one of `system`',
    /"developer"/,
  ],
  [
    'OpenRouter, whose host takes short ids',
    'hosted_a',
    400,
    'Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.',
    /call_1/,
  ],
  [
    'OpenAI, which streams to the verified',
    'hosted_a',
    400,
    'Your organization must be verified to stream this model.',
    /"stream":true/,
  ],
];

test.each(
  WORDS.flatMap(([name, place, status, says, minds]) =>
    Object.entries(AGENTS).map(([agent, [protocol, more]]) => ({
      name,
      place,
      status,
      says,
      minds,
      agent,
      protocol,
      more,
    })),
  ),
)('$agent is answered by $name', async ({ place, status, says, minds, protocol, more }) => {
  const { url, system, next } = await startBetween(place, (call) =>
    (minds.test(call.body.toString()) ? json(status, openAi(says, null)) : saying(SAID, {}))(call),
  );
  const told = { status: 200, upstream: place, reason: 'none', text: SAID.text };
  expect(await ask(url, { protocol, isStream: true, more })).toMatchObject(told);
  expect(system.calls.length).toBeLessThanOrEqual(2);
  expect(next.calls).toHaveLength(0);
});

test('a request is never sent with what some hosts refuse and none needs', async () => {
  const { url, system } = await startBetween('hosted_a', saying(SAID, {}));
  const [protocol, more] = AGENTS['Claude Code'] ?? ['chat', {}];
  await ask(url, { protocol, isStream: false, more });
  const [sent] = system.calls;
  // Anthropic's blocks, a user of 150 characters (OpenAI takes 64), answers that are not streamed (DashScope).
  expect(sent?.json).toMatchObject({ stream: true, messages: [{}, { content: 'hi' }, {}, {}, {}] });
  expect(String(sent?.json['user']).length).toBeLessThanOrEqual(64);
});

import { expect, test } from 'vitest';
import { SAID } from '../support/chat-answers.ts';
import { json, type Script, sse } from '../support/upstream.ts';
import { startBetween } from './between.ts';
import { ask, type Protocol } from './caller.ts';
import { google, openAi } from './refused.ts';
import { MESSAGE_START, messageEnd, responseEvents, saying, textBlock } from './speech.ts';
import type { Json, System } from './system.ts';

/** As servers of tools write it. */
const schema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  type: 'object',
  properties: { a: { type: 'string' } },
  additionalProperties: false,
};
const cache_control = { type: 'ephemeral', ttl: '1h', scope: 'global' };
const weather = { name: 'weather', parameters: schema };
const called = { name: 'weather', arguments: '{}' };

type Path = readonly (string | number)[];

interface Agent {
  readonly protocol: Protocol;
  readonly asks: Json;
  /** What hosts of its own protocol do not all take, and it can do without. */
  readonly spare?: readonly Path[];
}

/** Requests as agents send them in the middle of their work. */
const AGENTS: Readonly<Record<string, Agent>> = {
  'Claude Code': {
    protocol: 'messages',
    asks: {
      max_tokens: 32_000,
      system: [{ type: 'text', text: 'Be good.', cache_control }],
      tools: [
        {
          name: 'weather',
          description: 'w',
          input_schema: schema,
          eager_input_streaming: true,
          defer_loading: true,
          cache_control,
        },
      ],
      thinking: { type: 'adaptive', display: 'summarized' },
      output_config: { effort: 'high' },
      context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
      metadata: { user_id: 'u'.repeat(150) },
      temperature: 1,
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'hi', cache_control }] },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm.', signature: 's' },
            { type: 'tool_use', id: 't1', name: 'weather', input: {}, caller: { type: 'direct' } },
          ],
        },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 't1', content: 'rain', cache_control }],
        },
        { role: 'system', content: 'The file has changed.' },
      ],
    },
    spare: [
      ['thinking'],
      ['thinking', 'display'],
      ['output_config'],
      ['context_management'],
      ['metadata'],
      ['tools', 0, 'eager_input_streaming'],
      ['tools', 0, 'defer_loading'],
      ['tools', 0, 'cache_control', 'scope'],
      ['tools', 0, 'input_schema', 'additionalProperties'],
      ['tools', 0, 'input_schema', '$schema'],
      ['system', 0, 'cache_control', 'ttl'],
      ['messages', 0, 'content', 0, 'cache_control'],
      ['messages', 1, 'content', 1, 'caller'],
    ],
  },
  Codex: {
    protocol: 'responses',
    asks: {
      instructions: 'Be good.',
      tools: [{ type: 'function', ...weather, strict: false }],
      tool_choice: 'auto',
      parallel_tool_calls: false,
      reasoning: { effort: 'medium', summary: 'auto' },
      store: false,
      include: ['reasoning.encrypted_content'],
      prompt_cache_key: 'k',
      text: { verbosity: 'low' },
      service_tier: 'auto',
      client_metadata: { a: 'b' },
      input: [
        { role: 'developer', content: 'Be brief.' },
        { type: 'message', role: 'user', content: 'hi', status: 'completed', phase: 'commentary' },
        { type: 'function_call', call_id: 'call_1', ...called },
        { type: 'function_call_output', call_id: 'call_1', output: 'rain' },
      ],
    },
    spare: [
      ['tools', 0, 'strict'],
      ['tools', 0, 'parameters', 'additionalProperties'],
      ['reasoning', 'summary'],
      ['reasoning'],
      ['store'],
      ['include'],
      ['prompt_cache_key'],
      ['text', 'verbosity'],
      ['client_metadata'],
      ['input', 1, 'status'],
      ['input', 1, 'phase'],
    ],
  },
  Cline: {
    protocol: 'chat',
    asks: {
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
  },
  OpenCode: {
    protocol: 'chat',
    asks: {
      max_tokens: 32_000,
      tools: [{ type: 'function', function: { ...weather, strict: true } }],
      tool_choice: 'auto',
      prompt_cache_key: 'k',
      store: false,
      top_p: 1,
      messages: [
        { role: 'system', content: 'Be good.' },
        { role: 'user', content: [{ type: 'text', text: 'hi', cache_control }] },
        {
          role: 'assistant',
          content: null,
          reasoning_content: 'Hm.',
          refusal: null,
          annotations: [],
          tool_calls: [
            { index: 0, id: 'call_1', type: 'function', function: called, extra_content: {} },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
      ],
    },
    spare: [
      ['tools', 0, 'function', 'strict'],
      ['tools', 0, 'function', 'parameters', 'additionalProperties'],
      ['store'],
      ['stream_options'],
      ['messages', 1, 'content', 0, 'cache_control'],
      ['messages', 2, 'reasoning_content'],
      ['messages', 2, 'refusal'],
      ['messages', 2, 'annotations'],
      ['messages', 2, 'tool_calls', 0, 'index'],
      ['messages', 2, 'tool_calls', 0, 'extra_content'],
    ],
  },
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

/** A name finds what any element of a list has. */
const holds = (value: unknown, [name = '', ...inner]: Path): boolean => {
  if (Array.isArray(value) && typeof name === 'string')
    return value.some((each) => holds(each, [name, ...inner]));
  const held = (value as Json | null)?.[name];
  return inner.length === 0 ? held !== undefined : holds(held, inner);
};

const strict =
  ({ refuses, says, status = 400 }: Host): Script =>
  (call) => {
    const named = refuses.filter((path) => holds(call.json, path.split('.')));
    return (named.length === 0 ? saying(SAID, {}) : json(status, says(named)))(call);
  };

const PAIRS = Object.entries(HOSTS).flatMap(([name, host]) =>
  Object.entries(AGENTS).map(([agent, asked]) => ({ name, host, agent, ...asked })),
);

test.each(PAIRS)(
  '$name answers $agent, whatever fields it refuses, and is not asked for them again',
  async ({ host, protocol, asks }) => {
    const { url, system, next } = await startBetween(host.place ?? 'hosted_a', strict(host));
    const question = { protocol, isStream: true, more: asks };
    const told = { status: 200, text: SAID.text, faults: [] };
    expect(await ask(url, question)).toMatchObject(told);
    const sent = system.calls.length;
    expect(await ask(url, { ...question, isStream: false })).toMatchObject(told);
    expect([system.calls.length - sent, next.calls.length]).toEqual([1, 0]);
  },
);

test.each(Object.entries(AGENTS))(
  '%s is answered by OpenAI, which streams to verified organizations alone',
  async (_agent, { protocol, asks }) => {
    const says = 'Your organization must be verified to stream this model.';
    const { url, system, next } = await startBetween('hosted_a', (call) =>
      (call.json['stream'] === true ? json(400, openAi(says)) : saying(SAID, {}))(call),
    );
    const told = { status: 200, upstream: 'hosted_a', reason: 'none', text: SAID.text };
    expect(await ask(url, { protocol, isStream: true, more: asks })).toMatchObject(told);
    expect([system.calls.length, next.calls.length]).toEqual([2, 0]);
  },
);

test('a request is never sent with what some hosts refuse and none needs', async () => {
  const { url, system } = await startBetween('hosted_a', saying(SAID, {}));
  const more = AGENTS['Claude Code']?.asks ?? {};
  await ask(url, { protocol: 'messages', isStream: false, more });
  const [sent] = system.calls;
  // Anthropic's blocks, a user of 150 characters (OpenAI takes 64), answers that are not streamed (DashScope).
  expect(sent?.json).toMatchObject({ stream: true, messages: [{}, { content: 'hi' }, {}, {}, {}] });
  expect(String(sent?.json['user']).length).toBeLessThanOrEqual(64);
});

/** How hosts of a protocol name a field; some by its last name alone. */
const WAYS: Readonly<Record<string, (path: Path) => Json>> = {
  Anthropic: (path) => ({
    type: 'error',
    error: { message: `${path.join('.')}: Extra inputs are not permitted` },
  }),
  Bedrock: (path) => ({
    message: `Malformed input request: #/${path.slice(0, -1).join('/')}: extraneous key [${path.at(-1)}] is not permitted`,
  }),
  'pydantic in front of an engine': (path) => ({
    detail: [{ loc: ['body', ...path], msg: 'Extra inputs are not permitted' }],
  }),
  'zod in front of an engine': (path) => ({
    error: {
      message: `Unrecognized key(s) in object: '${path.at(-1)}'`,
      param: path.slice(0, -1).join('.'),
    },
  }),
  'a server in Go': (path) => ({ error: { message: `json: unknown field "${path.at(-1)}"` } }),
};

const ANSWERS: Readonly<Record<Protocol, Script>> = {
  chat: saying(SAID, {}),
  messages: sse(MESSAGE_START, ...textBlock('hi'), ...messageEnd('end_turn')),
  responses: sse(...responseEvents('hi', 'response.completed', { status: 'completed' })),
};

test.each(
  Object.entries(WAYS).flatMap(([host, says]) =>
    Object.values(AGENTS)
      .filter(({ spare }) => spare !== undefined)
      .map((agent) => ({ host, says, ...agent })),
  ),
)(
  '$host takes a request of $protocol without the field that it names',
  async ({ says, protocol, asks, spare = [] }) => {
    let refused: Path = [];
    const { url, next } = await startBetween(
      'hosted_a',
      (call) => (holds(call.json, refused) ? json(400, says(refused)) : ANSWERS[protocol])(call),
      { HOSTED_A_PROTOCOLS: 'native' },
    );
    for (refused of spare) {
      // What a model refuses is remembered.
      const model = refused.join('.');
      const told = await ask(url, { protocol, isStream: true, more: { ...asks, model } });
      expect([model, told.upstream, next.calls.length]).toEqual([model, 'hosted_a', 0]);
    }
  },
);

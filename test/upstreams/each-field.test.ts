import { expect, test } from 'vitest';
import { SAID } from '../support/chat-answers.ts';
import { json, sse } from '../support/upstream.ts';
import { startBetween } from './between.ts';
import { ask } from './caller.ts';
import { MESSAGE_START, messageEnd, responseEvents, saying, textBlock } from './speech.ts';
import type { Json } from './system.ts';

/** As servers of tools write it. */
const schema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  type: 'object',
  properties: { a: { type: 'string' } },
  additionalProperties: false,
};
const cache_control = { type: 'ephemeral', ttl: '1h', scope: 'global' };
const called = { name: 'w', arguments: '{}' };
const call = { type: 'tool_use', id: 't1', name: 'w', input: {}, caller: { type: 'direct' } };
const result = { type: 'tool_result', tool_use_id: 't1', content: 'rain', cache_control };

/** What Claude Code, Codex and others send, and hosts of their protocols do not all take. */
const AGENTS = {
  chat: {
    more: {
      tools: [{ type: 'function', function: { name: 'w', parameters: schema, strict: true } }],
      store: false,
      messages: [
        {
          role: 'assistant',
          content: null,
          reasoning_content: 'hm',
          refusal: null,
          annotations: [],
          tool_calls: [
            { index: 0, id: 'c1', type: 'function', function: called, extra_content: {} },
          ],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'rain' },
        { role: 'user', content: [{ type: 'text', text: 'hi', cache_control }] },
      ],
    },
    refuses: [
      ['tools', 0, 'function', 'strict'],
      ['tools', 0, 'function', 'parameters', 'additionalProperties'],
      ['store'],
      ['stream_options'],
      ['messages', 0, 'reasoning_content'],
      ['messages', 0, 'refusal'],
      ['messages', 0, 'annotations'],
      ['messages', 0, 'tool_calls', 0, 'index'],
      ['messages', 0, 'tool_calls', 0, 'extra_content'],
      ['messages', 2, 'content', 0, 'cache_control'],
    ],
    answers: saying(SAID, {}),
  },
  messages: {
    more: {
      max_tokens: 32_000,
      system: [{ type: 'text', text: 'Be good.', cache_control }],
      tools: [
        {
          name: 'w',
          input_schema: schema,
          eager_input_streaming: true,
          defer_loading: true,
          cache_control,
        },
      ],
      thinking: { type: 'adaptive', display: 'summarized' },
      output_config: { effort: 'high' },
      context_management: { edits: [{ type: 'clear_thinking_20251015' }] },
      metadata: { user_id: 'u' },
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'hi', cache_control }] },
        { role: 'assistant', content: [call] },
        { role: 'user', content: [result] },
      ],
    },
    refuses: [
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
      ['messages', 1, 'content', 0, 'caller'],
    ],
    answers: sse(MESSAGE_START, ...textBlock('hi'), ...messageEnd('end_turn')),
  },
  responses: {
    more: {
      tools: [{ type: 'function', name: 'w', parameters: schema, strict: false }],
      reasoning: { effort: 'xhigh', summary: 'auto' },
      store: false,
      include: ['reasoning.encrypted_content'],
      prompt_cache_key: 'k',
      text: { verbosity: 'low' },
      client_metadata: { a: 'b' },
      input: [
        { type: 'message', role: 'user', content: 'hi', status: 'completed', phase: 'commentary' },
      ],
    },
    refuses: [
      ['tools', 0, 'strict'],
      ['tools', 0, 'parameters', 'additionalProperties'],
      ['reasoning', 'summary'],
      ['reasoning'],
      ['store'],
      ['include'],
      ['prompt_cache_key'],
      ['text', 'verbosity'],
      ['client_metadata'],
      ['input', 0, 'status'],
      ['input', 0, 'phase'],
    ],
    answers: sse(...responseEvents('hi', 'response.completed', { status: 'completed' })),
  },
} as const;

type Path = readonly (string | number)[];

/** How hosts name a field; some by its last name alone. */
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

const holds = (value: unknown, [name, ...inner]: Path): boolean => {
  const held = (value as Json | null)?.[name ?? ''];
  return inner.length === 0 ? held !== undefined : holds(held, inner);
};

test.each(
  (['chat', 'messages', 'responses'] as const).flatMap((protocol) =>
    Object.keys(WAYS).map((host) => [host, protocol] as const),
  ),
)('%s takes a request of %s without the field that it names', async (host, protocol) => {
  const { more, refuses, answers } = AGENTS[protocol];
  let refused: Path = [];
  const { url, next } = await startBetween(
    'hosted_a',
    (asked) => (holds(asked.json, refused) ? json(400, WAYS[host]?.(refused)) : answers)(asked),
    { HOSTED_A_PROTOCOLS: 'native' },
  );
  for (refused of refuses) {
    // What a model refuses is remembered.
    const model = refused.join('.');
    const told = await ask(url, { protocol, isStream: true, more: { ...more, model } });
    expect([model, told.upstream, next.calls.length]).toEqual([model, 'hosted_a', 0]);
  }
});

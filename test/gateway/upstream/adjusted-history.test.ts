import { expect, test } from 'vitest';
import type { Adjustment } from '../../../main/gateway/upstream/adjustments.ts';
import { adjusted, after, call, error, forbidden, LOOP } from '../../support/refused.ts';

const CHAT = '/chat/completions';
const text = { type: 'text', text: 'a' };
const SHORT = 'call_6fe5981a314622bb624db8ec';
const user = (content: string) => ({ role: 'user', content });
const note = (content: string) => ({ role: 'system', content });
const useAndResult = (id: string) => [
  { role: 'assistant', content: [{ type: 'tool_use', id, name: 'f', input: {} }] },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'a' }, text] },
];

/** In the shape of pydantic, as vLLM and other engines check a message. */
const forbiddenRole = (msg: string) => ({
  detail: [{ type: 'literal_error', loc: ['body', 'messages', 1, 'role'], msg, input: 'system' }],
});

test.each([
  {
    who: 'OpenAI takes 64 characters of an id in the Responses API',
    path: '/responses',
    body: {
      input: [
        { type: 'function_call', call_id: 'c'.repeat(70), name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c'.repeat(70), output: 'a' },
        { type: 'function_call', call_id: 'c'.repeat(64), name: 'f', arguments: '{}' },
      ],
    },
    refusal: error(
      "Invalid 'input[0].call_id': string too long. Expected a string with maximum length 64, but got a string with length 70 instead.",
      { param: 'input[0].call_id', code: 'string_above_max_length' },
    ),
    adjustment: 'short_call_ids' as const,
    sent: {
      input: [
        { type: 'function_call', call_id: SHORT, name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: SHORT, output: 'a' },
        { type: 'function_call', call_id: 'c'.repeat(64), name: 'f', arguments: '{}' },
      ],
    },
  },
  {
    who: 'Mistral takes nothing that other hosts put into their answers',
    path: CHAT,
    body: {
      messages: [
        { role: 'user', content: 'a', name: 'b' },
        { role: 'assistant', content: 'a', refusal: null, annotations: [], tool_calls: [] },
        { role: 'assistant', content: null, refusal: 'no', audio: null },
        { role: 'assistant', content: null, tool_calls: [call('c', { index: 0 })], x: 1 },
        { role: 'assistant', content: 'a', reasoning_content: 'hm' },
      ],
    },
    refusal: forbidden('messages', 1, 'assistant', 'refusal'),
    adjustment: 'plain_turns' as const,
    sent: {
      messages: [
        { role: 'user', content: 'a', name: 'b' },
        { role: 'assistant', content: 'a' },
        { role: 'assistant', content: 'no' },
        { role: 'assistant', content: null, tool_calls: [call('c')] },
        { role: 'assistant', content: 'a', reasoning_content: 'hm' },
      ],
    },
  },
  {
    who: 'Groq takes no annotations',
    path: CHAT,
    body: { messages: [{ role: 'assistant', content: 'a', annotations: [] }] },
    refusal: error(
      "'messages.0' : for 'role:assistant' the following must be satisfied[('messages.0' : property 'annotations' is unsupported)]",
    ),
    adjustment: 'plain_turns' as const,
    sent: { messages: [{ role: 'assistant', content: 'a' }] },
  },
  ...[
    error("Invalid value: 'thinking'. Supported values are: 'text' and 'refusal'.", {
      param: 'messages[0].content[0].type',
      code: 'invalid_value',
    }),
    error('unsupported content[].type'),
    error('messages[0]: unknown variant `thinking`, expected `text`'),
  ].map((refusal) => ({
    who: `Mistral’s thoughts within the content are refused with “${refusal.error.message}”`,
    path: CHAT,
    body: {
      messages: [
        { role: 'assistant', content: [{ type: 'thinking', thinking: [] }, text] },
        { role: 'assistant', content: [{ type: 'thinking', thinking: [] }] },
        { role: 'user', content: [text] },
      ],
    },
    refusal,
    adjustment: 'without_reasoning' as const,
    sent: {
      messages: [
        { role: 'assistant', content: [text] },
        { role: 'assistant', content: '' },
        { role: 'user', content: [text] },
      ],
    },
  })),
  ...[
    {
      object: 'error',
      message: 'Assistant message must have either content or tool_calls, but not none.',
    },
    error(
      'messages.1: all messages must have non-empty content except for the optional final assistant message',
    ),
    error("Invalid value for 'content': expected a string, got null."),
    error('invalid message content type: <nil>'),
  ].map((refusal) => ({
    who: `a turn that only thought is refused with “${'error' in refusal ? refusal.error.message : refusal.message}”`,
    path: CHAT,
    body: {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: null, reasoning_content: 'hm' },
        { role: 'assistant', content: '' },
        { role: 'assistant', content: [], tool_calls: [] },
        { role: 'assistant', content: null, tool_calls: [call('c')] },
        { role: 'user', content: '' },
      ],
    },
    refusal,
    adjustment: 'without_empty_turns' as const,
    sent: {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: null, tool_calls: [call('c')] },
        { role: 'user', content: '' },
      ],
    },
  })),
  {
    who: 'Mistral wants the model to speak between a result and a user',
    path: CHAT,
    body: { messages: [...LOOP, LOOP[2], { role: 'user', content: 'b' }, ...LOOP] },
    refusal: {
      object: 'error',
      message: "Unexpected role 'user' after role 'tool'",
      type: 'invalid_request_message_order',
      code: '3230',
    },
    adjustment: 'answered_results' as const,
    sent: {
      messages: [
        ...LOOP,
        LOOP[2],
        { role: 'assistant', content: 'Done.' },
        { role: 'user', content: 'b' },
        ...LOOP,
      ],
    },
  },
  ...[
    {
      path: CHAT,
      body: { messages: [note('a'), user('a'), note('b'), user('b')] },
      sent: { messages: [note('a'), user('a'), user('b'), user('b')] },
    },
    {
      path: '/messages',
      body: { system: 'a', messages: [user('a'), note('b')] },
      sent: { system: 'a', messages: [user('a'), user('b')] },
    },
    {
      path: '/responses',
      body: { instructions: 'a', input: [{ ...note('a'), role: 'developer' }, user('b')] },
      sent: { instructions: 'a', input: [user('a'), user('b')] },
    },
    {
      path: '/responses',
      body: { input: [{ type: 'reasoning', summary: [] }, note('a')] },
      sent: { input: [{ type: 'reasoning', summary: [] }, user('a')] },
    },
  ].map((each) => ({
    who: `Qwen’s template hears the system first of all, in ${JSON.stringify(each.body)}`,
    ...each,
    refusal: error('System message must be at the beginning.'),
    adjustment: 'notes_as_user' as const,
  })),
  {
    who: 'Mistral takes no system message after the model’s',
    path: CHAT,
    body: { messages: [user('a'), { role: 'assistant', content: 'b' }, note('c'), user('d')] },
    refusal: { object: 'error', message: "Unexpected role 'system' after role 'assistant'" },
    adjustment: 'notes_as_user' as const,
    sent: { messages: [user('a'), { role: 'assistant', content: 'b' }, user('c'), user('d')] },
  },
  ...[
    // github.com/anthropics/claude-code/issues/63469
    error("messages[1].role must be either 'user' or 'assistant', but got 'system'"),
    // github.com/ogx-ai/ogx/issues/5982; github.com/Alishahryar1/free-claude-code/issues/626
    forbiddenRole("Input should be 'user' or 'assistant'"),
    // github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1399
    error("request.messages.1.role: Invalid discriminator value. Expected 'user' | 'assistant'"),
    // platform.claude.com/docs/en/api/errors: models before those that take notes.
    error(
      'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter.',
    ),
  ].map((refusal) => ({
    who: `the roles of messages are two, as ${JSON.stringify(refusal)}`,
    path: '/messages',
    body: { system: 'a', messages: [user('b'), note('c')] },
    refusal,
    adjustment: 'notes_as_user' as const,
    sent: { system: 'a', messages: [user('b'), user('c')] },
  })),
  {
    who: 'llama.cpp reads no reasoning that is only a summary',
    path: '/responses',
    body: {
      input: [
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] },
        { type: 'reasoning', summary: [], encrypted_content: 'x' },
        { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'a' }] },
        user('a'),
      ],
    },
    refusal: error("item['content'] is not an array"),
    adjustment: 'told_thoughts' as const,
    sent: {
      input: [
        {
          type: 'reasoning',
          summary: [{ type: 'summary_text', text: 'hm' }],
          content: [{ type: 'reasoning_text', text: 'hm' }],
        },
        { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'a' }] },
        user('a'),
      ],
    },
  },
  {
    who: 'vLLM reads no encrypted reasoning',
    path: '/responses',
    body: {
      input: [
        { type: 'reasoning', summary: [{ text: 'hm' }], encrypted_content: 'x' },
        { type: 'reasoning', summary: [], encrypted_content: 'x' },
        { type: 'reasoning', summary: [], encrypted_content: null },
      ],
    },
    refusal: error('Encrypted content is not supported.'),
    adjustment: 'without_encrypted' as const,
    sent: {
      input: [
        { type: 'reasoning', summary: [{ text: 'hm' }] },
        { type: 'reasoning', summary: [], encrypted_content: null },
      ],
    },
  },
  {
    who: 'OpenAI’s models that do not think have no encrypted reasoning',
    path: '/responses',
    body: { input: 'a', include: ['reasoning.encrypted_content', 'x'] },
    refusal: error('Encrypted content is not supported with this model.', { param: 'include' }),
    adjustment: 'without_encryption' as const,
    sent: { input: 'a', include: ['x'] },
  },
  {
    who: 'Anthropic takes an id for one call only',
    path: '/messages',
    body: {
      messages: [...useAndResult('a:0'), ...useAndResult('b'), ...useAndResult('a:0')],
    },
    refusal: {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: 'messages.5.content.0: `tool_use` ids must be unique',
      },
    },
    adjustment: 'unique_call_ids' as const,
    sent: {
      messages: [
        ...useAndResult('a:0'),
        ...useAndResult('b'),
        ...useAndResult('call_e216b420a5f0fafd8643e2de'),
      ],
    },
  },
])(
  'the history of a request is adjusted to a refusal: $who',
  ({ path, body, refusal, adjustment, sent }) => {
    expect(after(path, body, refusal)).toBe(adjustment);
    expect(adjusted(body, adjustment)).toEqual(sent);
    expect(after(path, sent, refusal, { made: new Set([adjustment]) })).toBeNull();
  },
);

test('a refused history loses reasoning that nothing follows first, then the ids, then all reasoning', () => {
  const thought = (id: string, more: object = {}) => ({
    type: 'reasoning',
    id,
    summary: [],
    ...more,
  });
  const sealed = { encrypted_content: 'x' };
  const called = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
  const output = { type: 'function_call_output', call_id: 'c', output: '' };
  const said = { type: 'message', role: 'assistant', content: [] };
  const loop = [thought('rs_1', sealed), thought('rs_2'), called, output];
  const body = {
    input: [...loop, thought('rs_3'), user('a'), { ...said, id: 'msg_1' }, thought('rs_4')],
  };
  const refusal = error(
    "Item 'rs_3' of type 'reasoning' was provided without its required following item.",
  );
  const asked = (...made: Adjustment[]) =>
    after('/responses', body, refusal, { made: new Set(made) });
  expect(asked()).toBe('without_lone_thoughts');
  expect(adjusted(body, 'without_lone_thoughts')).toEqual({
    input: [...loop, user('a'), { ...said, id: 'msg_1' }],
  });
  expect(asked('without_lone_thoughts')).toBe('without_item_ids');
  expect(adjusted(body, 'without_item_ids')).toEqual({
    input: [{ type: 'reasoning', summary: [], ...sealed }, called, output, user('a'), said],
  });
  expect(asked('without_lone_thoughts', 'without_item_ids')).toBe('without_foreign_items');
  expect(adjusted(body, 'without_foreign_items')).toEqual({
    input: [called, output, user('a'), said],
  });
});

test.each([
  "Unknown parameter: 'input[1].status'.",
  "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.",
  "Invalid 'input[1].id': 'x'. Expected an ID that begins with 'msg'.",
  "Item 'msg_1' of type 'message' was provided without its required 'reasoning' item: 'rs_1'.",
])('ids of items are left out where OpenAI says “%s”', (message) => {
  const body = { input: [user('a'), { type: 'message', id: 'x', role: 'assistant', content: [] }] };
  expect(after('/responses', body, error(message), { status: 404 })).toBe('without_item_ids');
});

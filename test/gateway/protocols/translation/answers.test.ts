import { describe, expect, test } from 'vitest';
import { MESSAGES_TRANSLATION } from '../../../../main/gateway/protocols/messages/endpoint.ts';
import { RESPONSES_TRANSLATION } from '../../../../main/gateway/protocols/responses/endpoint.ts';
import { answerOf } from '../../../support/translated.ts';

const completion = (message: object, finish_reason = 'stop', others: object = {}) => ({
  id: 'chatcmpl-1',
  model: 'engine-model',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason, ...others }],
  usage: { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 },
});

const call = (id: string, json: string) => ({
  id,
  type: 'function',
  function: { name: 'look', arguments: json },
});

test('an answer of the Responses API repeats the settings of its request', () => {
  const request = {
    instructions: 'Be brief.',
    temperature: 0.5,
    tools: [{ type: 'function', name: 'look' }],
    tool_choice: 'required',
    metadata: { a: 'b' },
  };
  const value = completion({ content: 'Hello.' });
  expect(answerOf(value, RESPONSES_TRANSLATION, { request })).toEqual({
    id: 'resp_x',
    object: 'response',
    created_at: 1_700_000_000,
    status: 'completed',
    error: null,
    incomplete_details: null,
    model: 'engine-model',
    output: [
      {
        id: 'msg_x_0',
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'Hello.', annotations: [], logprobs: [] }],
      },
    ],
    usage: {
      input_tokens: 5,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: 3,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 8,
    },
    background: false,
    previous_response_id: null,
    service_tier: 'default',
    store: false,
    truncation: 'disabled',
    access_programs: null,
    max_output_tokens: null,
    parallel_tool_calls: true,
    reasoning: { effort: null, summary: null },
    text: { format: { type: 'text' } },
    top_p: null,
    user: null,
    ...request,
  });
});

test('an answer of the Responses API has a refusal as a part of its message, and citations at its text', () => {
  const url_citation = { url: 'https://x.test', title: 'X', start_index: 0, end_index: 5 };
  const message = {
    content: 'Hello.',
    annotations: [{ type: 'url_citation', url_citation }],
    refusal: 'No more.',
  };
  const annotations = [{ type: 'url_citation', ...url_citation }];
  expect(answerOf(completion(message), RESPONSES_TRANSLATION)).toMatchObject({
    output: [
      {
        content: [
          { type: 'output_text', text: 'Hello.', annotations },
          { type: 'refusal', refusal: 'No more.' },
        ],
      },
    ],
  });
});

test('an answer of the Responses API has the reasoning that clients without stored answers send back', () => {
  const message = completion({ content: 'Hello.', reasoning: 'Hm' });
  const request = { store: false, include: ['reasoning.encrypted_content'] };
  const reasoning = { type: 'reasoning', encrypted_content: expect.stringMatching(/./) };
  const answer = answerOf(message, RESPONSES_TRANSLATION, { request });
  expect(answer).toMatchObject({ output: [reasoning, {}] });
  expect(answerOf(message, RESPONSES_TRANSLATION)).not.toMatchObject({ output: [reasoning, {}] });
});

test('an answer of the Responses API calls a function in a namespace by its own name, like its request', () => {
  const tools = [{ type: 'namespace', name: 'eye', tools: [{ type: 'function', name: 'look' }] }];
  const called = { id: 'a', function: { name: 'eye__look', arguments: '{}' } };
  const request = { tools, input: 'Hi' };
  const asked = RESPONSES_TRANSLATION.toChat(request, null);
  const functions = asked.kind === 'chat' ? asked.functions : new Map<string, never>();
  const value = completion({ tool_calls: [called] });
  const body = answerOf(value, RESPONSES_TRANSLATION, { request, functions });
  const item = { type: 'function_call', namespace: 'eye', name: 'look', call_id: 'a' };
  expect(body).toMatchObject({ output: [item] });
  const { output } = body as { output: object[] };
  const next = RESPONSES_TRANSLATION.toChat({ ...request, input: output }, null);
  expect(next).toMatchObject({ body: { messages: [{ tool_calls: [called] }] } });
});

test.each([
  [
    'leaves cached tokens out of its input',
    { prompt_tokens_details: { cached_tokens: 7 } },
    { input_tokens: 10, input_tokens_details: { cached_tokens: 7 }, total_tokens: 12 },
    { input_tokens: 3, cache_read_input_tokens: 7 },
  ],
  [
    'reports more reasoning than output',
    { completion_tokens_details: { reasoning_tokens: 9 } },
    { output_tokens: 2, output_tokens_details: { reasoning_tokens: 2 } },
    { output_tokens: 2, output_tokens_details: { thinking_tokens: 2 } },
  ],
])(
  'the usage of a translated answer is consistent even if the upstream %s',
  (_what, details, responses, messages) => {
    const usage = { prompt_tokens: 3, completion_tokens: 2, ...details };
    const value = { ...completion({ content: 'Hello.' }), usage };
    expect(answerOf(value, RESPONSES_TRANSLATION)).toMatchObject({ usage: responses });
    expect(answerOf(value, MESSAGES_TRANSLATION)).toMatchObject({ usage: messages });
  },
);

test('an answer of the Messages API has all fields of its type', () => {
  expect(answerOf(completion({ content: 'Hello.' }), MESSAGES_TRANSLATION)).toEqual({
    id: 'msg_x',
    type: 'message',
    role: 'assistant',
    model: 'engine-model',
    content: [{ type: 'text', text: 'Hello.', citations: null }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    stop_details: null,
    container: null,
    diagnostics: null,
    usage: {
      input_tokens: 5,
      output_tokens: 3,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      cache_creation: null,
      inference_geo: null,
      output_tokens_details: null,
      server_tool_use: null,
      service_tier: 'standard',
      speed: null,
    },
  });
});

const NAMED = { stop_reason: 'stop_sequence', stop_sequence: 'END' };
const UNNAMED = { stop_reason: 'stop_sequence', stop_sequence: null };
const ENDED = { stop_reason: 'end_turn', stop_sequence: null };
const TWO = ['END', 'STOP'];

test.each<[what: string, ending: object, asked: readonly string[] | undefined, told: object]>([
  ['vLLM names', { stop_reason: 'END' }, TWO, NAMED],
  ['SGLang names', { matched_stop: 'END' }, TWO, NAMED],
  ['an engine numbers as a token', { stop_reason: 2, matched_stop: 2 }, TWO, ENDED],
  ['an engine stops at by itself', { matched_stop: '<|im_end|>' }, TWO, ENDED],
  ['the request does not name', { stop_reason: 'END' }, undefined, ENDED],
  ['TGI does not name, of one', { finish_reason: 'stop_sequence' }, ['END'], NAMED],
  ['TGI does not name, of two', { finish_reason: 'stop_sequence' }, TWO, UNNAMED],
  ['OpenRouter passes on, of one', { native_finish_reason: 'stop_sequence' }, ['END'], NAMED],
  ['OpenRouter does not speak of', { native_finish_reason: 'stop' }, ['END'], ENDED],
])(
  'an answer of the Messages API says whether it ended at a stop sequence, as with one that %s',
  (_what, ending, asked, told) => {
    const request = { stop_sequences: asked };
    const value = completion({ content: 'a' }, 'stop', ending);
    expect(answerOf(value, MESSAGES_TRANSLATION, { request })).toMatchObject(told);
  },
);

describe.each([
  ['Responses', RESPONSES_TRANSLATION],
  ['Messages', MESSAGES_TRANSLATION],
])('answers of different engines in the %s API', (_name, protocol) => {
  test.each([
    ['nothing', null],
    ['a value nested too deep', `${'{"a":'.repeat(9000)}1${'}'.repeat(9000)}`],
    ['an error', { error: { message: 'out of memory' } }],
    ['no choice', { choices: [] }],
    ['no finish reason', { choices: [{ index: 0, message: { content: 'a' } }] }],
    ['the finish reason of a crash', completion({ content: 'a' }, 'error')],
    [
      'a call without a name',
      completion({ tool_calls: [{ id: 'a', function: { arguments: '{}' } }] }),
    ],
  ])('a translated answer with %s is a bad response', (_what, value) => {
    expect(answerOf(value, protocol)).toBeNull();
  });
});

test('arguments that are not a JSON object are a bad response in the Messages API', () => {
  for (const json of ['[1]', 'look', '{"at":'.repeat(9000) + '1' + '}'.repeat(9000)]) {
    const value = completion({ tool_calls: [call('a', json)] });
    expect(answerOf(value, MESSAGES_TRANSLATION)).toBeNull();
  }
});

import { expect, test } from 'vitest';
import { createMemory } from '../../../main/gateway/memory/memory.ts';
import {
  adjustedHeaders,
  type Adjustment,
  knownRefusals,
  learnRefusals,
  learnUsage,
} from '../../../main/gateway/upstream/adjustments.ts';
import { createManualClock } from '../../support/clock.ts';
import {
  adjusted,
  askedBy,
  calls,
  CHAT,
  developer,
  EDITS,
  EMPTY,
  ENABLED,
  input,
  item,
  type Json,
  messages,
  MESSAGES,
  note,
  result,
  said,
  text,
  thinking,
  thought,
  tool,
  use,
  user,
  useResult,
  withParam,
} from '../../support/refused.ts';

const given = { type: 'input_text', text: 'a' };
const words = { type: 'output_text', text: 'a' };
const inWords = { role: 'assistant', content: 'a' };
const blank = { type: 'text', text: '' };
const NONE = 'No result: the call was interrupted.';
const told = (...content: readonly Json[]) => ({ role: 'user', content });
const noUseResult = (id: string) => told({ ...useResult(id).content[0], content: NONE });
const used = (id: string, value: unknown) => said({ type: 'tool_use', id, input: value });
const noResult = (id: string) => ({ ...result(id), content: NONE });
const called = (call_id: string) => ({ type: 'function_call', call_id });
const output = (call_id: string, says = 'b') => ({
  type: 'function_call_output',
  call_id,
  output: says,
});
/** As Codex calls it, whose result is a function's. */
const shell = (call_id: string) => ({ type: 'local_shell_call', call_id });
/** Of Codex; a host's own has no id. */
const search = (call_id: string | null) => ({ type: 'tool_search_call', call_id });
const found = (call_id: string) => ({ type: 'tool_search_output', call_id, tools: [] });
const noId = { role: 'tool', tool_call_id: null, content: 'b' };

/** Ids that all hosts take. */
const [A, B, C] = ['aaaaaaaaa', 'bbbbbbbbb', 'ccccccccc'] as const;
const [D, E, F] = ['ddddddddd', 'eeeeeeeee', 'fffffffff'] as const;

const both = said(...use(D).content, ...use(E).content);
const searched: readonly Json[] = [called(A), search(null), search(B), found(B), output(A)];

/** What is changed. */
const CHANGES: readonly (readonly [Adjustment, sent: Json, taken: Json])[] = [
  ['without text.verbosity', { text: { verbosity: 'low' } }, {}],
  ['without text.strict', { text: { format: { strict: true } } }, { text: { format: {} } }],
  ['without reasoning_effort="none"', { reasoning_effort: 'low' }, { reasoning_effort: 'low' }],
  [
    'without tools.strict',
    { tools: [{ strict: true, parameters: { properties: { strict: {} } } }] },
    { tools: [{ parameters: { properties: { strict: {} } } }] },
  ],
  [
    'without tools.minLength',
    { tools: [tool({ properties: { minLength: { minLength: 1 }, input: { minLength: 1 } } })] },
    { tools: [tool({ properties: { minLength: {}, input: {} } })] },
  ],
  ['without thinking', { thinking: ENABLED, context_management: EDITS }, {}],
  ['without max_tokens', { max_tokens: 9 }, { max_completion_tokens: 9 }],
  ['without max_completion_tokens', { max_completion_tokens: 9 }, { max_tokens: 9 }],
  ['without stream', { stream: true, stream_options: {} }, {}],
  ['without toString', { toString: 1 }, {}],
  [
    'at_most_8192',
    { max_tokens: 32_000, max_completion_tokens: 9 },
    { max_tokens: 8192, max_completion_tokens: 9 },
  ],
  ['at_least_16', { max_output_tokens: 1 }, { max_output_tokens: 16 }],
  [
    'strict_tools',
    { tool_choice: { function: { name: 'b' } }, tools: [tool(EMPTY), tool(EMPTY, 'b')] },
    { tool_choice: 'required', tools: [tool(EMPTY, 'b')], parallel_tool_calls: false },
  ],
  [
    'strict_tools',
    { tool_choice: { type: 'tool', name: 'b' }, tools: [{ name: 'b' }] },
    { tool_choice: { type: 'any', disable_parallel_tool_use: true }, tools: [{ name: 'b' }] },
  ],
  ['without tool_choice="auto"', { tool_choice: 'auto' }, {}],
  ['without tool_choice="auto"', { tool_choice: 'required' }, { tool_choice: 'required' }],
  ['other_effort', { tools: [] }, { tools: [], reasoning_effort: 'none' }],
  ['other_effort', { thinking: ENABLED }, { thinking: { type: 'adaptive' } }],
  [
    'strict_tools',
    { tools: [{ name: 'a', input_schema: { type: 'object' } }] },
    { tools: [{ name: 'a', input_schema: EMPTY }] },
  ],
  [
    'strict_tools',
    { tools: [tool({ ...EMPTY, anyOf: [{ properties: { a: {} } }, { properties: { b: {} } }] })] },
    { tools: [tool({ type: 'object', properties: { a: {}, b: {} } })] },
  ],
  ...[{}, { type: null }, { $defs: {} }, null].map((schema) => {
    const other = { type: 'web_search' };
    const taken = [tool({ ...schema, ...EMPTY }), other];
    return ['strict_tools', { tools: [tool(schema), other] }, { tools: taken }] as const;
  }),
  [
    'filled_reasoning',
    messages(calls('c'), { ...said(), reasoning: 'hm' }),
    messages(
      { ...calls('c'), reasoning_content: '.' },
      { ...said(), reasoning: 'hm', reasoning_content: 'hm' },
    ),
  ],
  [
    'call_signatures',
    messages(calls('c')),
    messages(
      calls('c', {
        extra_content: { google: { thought_signature: 'skip_thought_signature_validator' } },
      }),
    ),
  ],
  [
    'sound_calls',
    messages(calls('call_1'), result('call_1'), calls(A, { call_id: '' }), result(A)),
    messages(calls('a436c9179'), result('a436c9179'), calls(A, { call_id: '' }), result(A)),
  ],
  [
    'sound_calls',
    messages(calls(''), result('')),
    messages(calls('e12a7e051'), result('e12a7e051')),
  ],
  [
    'sound_calls',
    messages(use('abcdefgh9'), useResult('abcdefgh9'), use('abcdefgh9'), useResult('abcdefgh9')),
    messages(use('abcdefgh9'), useResult('abcdefgh9'), use('09a5cc7bd'), useResult('09a5cc7bd')),
  ],
  [
    'sound_calls',
    input(called('call_1'), output('call_1')),
    input(called('a436c9179'), output('a436c9179')),
  ],
  [
    'sound_calls',
    { previous_response_id: 'resp_1', ...input(output('call_1')) },
    { previous_response_id: 'resp_1', ...input(output('call_1')) },
  ],
  [
    'sound_calls',
    input({ type: 'item_reference', id: 'fc_1' }, output('call_1')),
    input({ type: 'item_reference', id: 'fc_1' }, output('call_1')),
  ],
  [
    'sound_calls',
    messages(calls(A, { function: { name: 'a', arguments: '{"b": "c' } }), result(A)),
    messages(calls(A, { function: { name: 'a', arguments: '{}' } }), result(A)),
  ],
  [
    'sound_calls',
    messages(used(A, '{"a":1}'), useResult(A), used(B, null), useResult(B)),
    messages(used(A, { a: 1 }), useResult(A), used(B, {}), useResult(B)),
  ],
  [
    'sound_calls',
    input({ ...called(A), arguments: 'x' }, output(A)),
    input({ ...called(A), arguments: '{}' }, output(A)),
  ],
  [
    'sound_calls',
    messages(result(B), calls(C), calls(D), result(C), result(D)),
    messages(user('b'), calls(C), noResult(C), calls(D), noResult(D), user('b'), user('b')),
  ],
  [
    'sound_calls',
    messages(
      use(A),
      useResult(B),
      use(C),
      told(...useResult(B).content, ...useResult(C).content),
      both,
      useResult(D),
      told(text, ...useResult(E).content),
      said(...use(F).content, ...use(B).content),
      useResult(B),
      user('a'),
    ),
    messages(
      use(A),
      told(...noUseResult(A).content, text),
      use(C),
      told(...useResult(C).content, text),
      both,
      told(...useResult(D).content, ...useResult(E).content, text),
      said(...use(F).content, ...use(B).content),
      told(...useResult(B).content, ...noUseResult(F).content, text),
    ),
  ],
  [
    'sound_calls',
    input(called(A), thought, called(B), output(B), user('a'), output(C)),
    input(called(A), thought, called(B), output(B), output(A, NONE), user('a'), user('b')),
  ],
  [
    'sound_calls',
    input(...searched, shell(D), { ...output(A), output: undefined }),
    input(...searched, shell(D), output(D, NONE), user(NONE)),
  ],
  [
    'sound_calls',
    messages(calls(A), result(A), { ...calls(A), tool_calls: [{ id: null }] }, noId),
    messages(calls(A), result(A), { ...calls(A), tool_calls: [{ id: null }] }, noId),
  ],
  [
    'alternating_turns',
    messages(calls('c'), result('c'), result('d'), user('b')),
    messages(
      calls('c'),
      result('c'),
      result('d'),
      { role: 'assistant', content: 'Done.' },
      user('b'),
    ),
  ],
  [
    'alternating_turns',
    messages(note('a'), note('b'), user('c'), calls('c'), calls('d'), said(text), inWords),
    messages(note('a'), user('b\n\nc'), calls('c'), calls('d'), said(text, text)),
  ],
  [
    'alternating_turns',
    input(user('a'), told(given), told(), said(words), inWords),
    input(told(given, given), said(words, words)),
  ],
  ['alternating_turns', messages(note('a'), user('b')), messages(note('a'), user('b'))],
  [
    'alternating_turns',
    input(user('a'), user('b'), thought, user('c'), 'd'),
    input(user('a\n\nb'), thought, user('c'), 'd'),
  ],
  [
    'strict_turns',
    messages(developer('a'), user('b'), developer('c')),
    messages(note('a'), user('b'), user('c')),
  ],
  [
    'strict_turns',
    { system: 'a', ...messages(note('b')) },
    { system: 'a', ...messages(user('b')) },
  ],
  [
    'strict_turns',
    input({ type: 'reasoning' }, developer('a')),
    input({ type: 'reasoning' }, user('a')),
  ],
  [
    'strict_turns',
    messages(
      { ...said(), content: null, reasoning_content: 'hm' },
      { ...said(), content: '' },
      { ...said(text), tool_calls: [] },
      user(''),
      calls('c'),
      user(''),
    ),
    messages(said(text), calls('c'), user('')),
  ],
  [
    'strict_turns',
    messages(said(), said(blank, text), said(blank), told(text, blank)),
    messages(said(text), told(text)),
  ],
  [
    'without_thoughts',
    messages(said(thinking, text), { ...calls('c'), content: [thinking] }, said(thinking)),
    messages(said(text), calls('c')),
  ],
  [
    'without_thoughts',
    { thinking: ENABLED, ...messages(said(thinking, text), user('a')) },
    { thinking: ENABLED, ...messages(said(text), user('a')) },
  ],
  [
    'without_thoughts',
    { thinking: ENABLED, ...messages(said(thinking), used('c', ['thinking']), useResult('c')) },
    { thinking: { type: 'disabled' }, ...messages(used('c', ['thinking']), useResult('c')) },
  ],
  [
    'without_thoughts',
    input(thought, { id: 'msg_1', ...item }, { type: 'item_reference', id: 'x' }, { id: 'y' }),
    input(item, { type: 'item_reference', id: 'x' }, { id: 'y' }),
  ],
];

test.each(CHANGES)('a request is changed by %s: %j', (adjustment, sent, taken) => {
  expect(adjusted(sent, adjustment)).toEqual(taken);
});

test('thousands of turns of one speaker are joined at once', { timeout: 10_000 }, () => {
  const says = Array<string>(4000).fill('a'.repeat(4000));
  const taken = adjusted(messages(...says.map(user)), 'alternating_turns');
  expect(taken).toEqual(messages(user(says.join('\n\n'))));
});

/** As many tools of MCP servers have it. */
const STRICT = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  additionalProperties: false,
  type: 'object',
  properties: { a: { minLength: 1, anyOf: [{}] }, minLength: { type: 'number' } },
};

// github.com/felinics/Memoh/issues/620; github.com/openswarm-ai/openswarm/issues/24
test.each([
  ...['parameters', 'parameters.properties[0].value.items'].map((at) => [
    `Unknown name "additionalProperties" at 'tools[0].function_declarations[0].${at}': Cannot find field.`,
    ['without tools.additionalProperties'],
  ]),
  [
    `Unknown name "$schema" at 'tools[0].function_declarations[0].parameters': Cannot find field.`,
    ['without tools.$schema'],
  ],
  [
    "Invalid schema for function 'a': In context=('properties', 'a'), 'minLength' is not permitted.",
    ['without tools.minLength'],
  ],
  ...['enum', 'anyOf'].map((name) => [
    `Unknown name "${name}" at 'tools[0].function_declarations[0].parameters': Cannot find field.`,
    [],
  ]),
])('the schema of a tool loses what a host refuses and a call can do without: %s', (says, made) => {
  for (const sent of [{ tools: [tool(STRICT)] }, { tools: [{ name: 'a', input_schema: STRICT }] }])
    expect(askedBy(says, CHAT, { sent })).toEqual(made);
});

test.each([
  "A 'user' role message is only allowed after an 'assistant' one",
  "'user' is only allowed as the last role",
  "'user' messages are not permitted here",
  "'user' is not allowed after 'tool'",
  // github.com/modelcontextprotocol/quickstart-resources/issues/20
  'messages: unexpected roles: found multiple "user" in a row',
])('a refusal of a role does not cost a request its field of that name: %s', (says) => {
  expect(askedBy(says, CHAT, { sent: { user: 'bob', ...messages(user('a')) } })).toEqual([]);
});

test('a refusal that names no field asks for none, not even for one that has no name', () => {
  const sent = { messages: [{ '': 1 }], extra: { '': 1 } };
  const headers = ['anthropic-beta', ''];
  expect(askedBy('This is not supported.', CHAT, { sent, headers })).toEqual([]);
});

test('the fields inside of a member are read at once, however long its name is', () => {
  const inside = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`b${at}`, 1]));
  const sent = { ['a'.repeat(500_000)]: inside, b: 1 };
  expect(askedBy("Unknown parameter: 'b'.", CHAT, { sent })).toEqual(['without b']);
});

test('a host that refuses a stream is asked for a whole answer only if one will do', () => {
  const says = withParam('stream', 'You must be verified to stream.', 'unsupported_value');
  expect(askedBy(says, CHAT, { mayBeWhole: false })).toEqual([]);
});

test('of embeddings only the encoding is left out, because every other field says what they have to be', () => {
  const sent = { dimensions: 256, encoding_format: 'base64' };
  expect(askedBy("Unknown parameter: 'dimensions'.", '/embeddings', { sent })).toEqual([]);
  // github.com/BerriAI/litellm/pull/17150
  const says = "gemini does not support parameters: {'encoding_format': 'base64'}";
  expect(askedBy(says, '/embeddings', { sent })).toEqual(['without encoding_format']);
});

test('an engine that blames itself is believed about turns, and not about fields', () => {
  const says = 'System message must be at the beginning.';
  expect(askedBy(says, MESSAGES, { status: 500 })).toEqual(['strict_turns']);
  const broken = 'Failed to parse tool call arguments as JSON';
  expect(askedBy(broken, CHAT, { status: 500 })).toEqual(['sound_calls']);
  expect(askedBy("Unknown parameter: 'store'.", MESSAGES, { status: 500 })).toEqual([]);
});

// github.com/anthropics/claude-code/issues/82549, #49370; github.com/QuantumNous/new-api/issues/3041
test.each([
  [
    'Vertex names the betas',
    'Unexpected value(s) `context-1m`, `effort` for the `anthropic-beta` header.',
    ['anthropic-beta', 'claude-code'],
  ],
  ['a proxy names one', 'Unsupported betas: context-1m.', ['anthropic-beta', 'claude-code,effort']],
  ['Bedrock does not', 'invalid beta flag', []],
  ['Anthropic has a name', 'The long context beta is not yet available for this account.', []],
])('betas that a host does not know are left out: %s', (_who, says, left) => {
  const headers = ['anthropic-beta', 'claude-code,context-1m, effort', 'accept', '*/*'];
  const made = askedBy(says, MESSAGES, { sent: {}, headers });
  expect(adjustedHeaders(headers, new Set(made))).toEqual([...left, 'accept', '*/*']);
});

const learnt = (...made: Adjustment[]) => {
  const clock = createManualClock();
  const known = createMemory(clock).of('hosted_a');
  learnRefusals(known, 'o3', new Set(made));
  return { clock, known, at: (model: string) => [...knownRefusals(known, model)] };
};

test('what an upstream accepted is remembered for its model for an hour, except for what one conversation needed', () => {
  const kept: Adjustment[] = ['without max_tokens', 'without reasoning_effort="none"'];
  const { clock, at } = learnt(...kept, 'without_thoughts', 'at_most_9');
  expect([at('o3'), at('o3-mini')]).toEqual([kept, []]);
  clock.advance(3_600_000);
  expect(at('o3')).toEqual([]);
});

test('an upstream that never reported usage is not asked for it for ten minutes after a failure without a reason', () => {
  const { clock, known, at } = learnt();
  learnUsage(known, 'm', false);
  expect(at('m')).toEqual(['without stream_options']);
  clock.advance(600_000);
  expect(at('m')).toEqual([]);
  learnUsage(known, 'm', true);
  learnUsage(known, 'm', false);
  expect(at('m')).toEqual([]);
});

const turns = (count: number) => messages(...Array<Json>(count).fill(calls('1', { index: 0 })));

test.each([
  ['a usual request', turns(100), 1],
  ['a request of 5 MiB', { ...turns(1), user: 'x'.repeat(5 * 1024 * 1024) }, 0],
  ['a request of a hundred thousand values', turns(10_000), 0],
])('%s is searched for what a refusal names, unless that takes long', (_, sent, changes) => {
  const says = 'messages.0.tool_calls.0.index: Extra inputs are not permitted';
  expect(askedBy(says, CHAT, { sent })).toHaveLength(changes);
});

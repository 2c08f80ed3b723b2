import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type Assembly,
  chunksOf,
  createAssembly,
} from '../../../main/gateway/protocols/assembly.ts';
import { RESPONSES } from '../../../main/gateway/protocols/responses/endpoint.ts';
import { memberOf } from '../../../main/platform/json.ts';

/** Puts `chunks` together and parses the result. */
function assembled(chunks: readonly unknown[], assembly: Assembly = createAssembly()): unknown {
  for (const chunk of chunks) assembly.add(chunk);
  return JSON.parse(String(assembly.result())) as unknown;
}

/** `text` cut at `places`. */
function pieces(text: string, places: readonly number[]): string[] {
  const cuts = places.map((place) => place % (text.length + 1)).toSorted((a, b) => a - b);
  return [0, ...cuts].map((start, index) => text.slice(start, cuts[index] ?? text.length));
}

const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 });
const cuts = fc.array(fc.nat(), { maxLength: 6 });
/** Calls without an id of their own, and arguments that are no JSON, cannot always be told apart. */
const calls = fc.uniqueArray(
  fc.record({
    id: text,
    name: text,
    arguments: fc.object().map((args) => JSON.stringify(args)),
    cuts,
  }),
  { selector: ({ id }) => id, maxLength: 4 },
);

test('the assembled message is the same, wherever text and arguments are cut', () => {
  fc.assert(
    fc.property(text, cuts, calls, (content, places, told) => {
      const delta = (fields: unknown) => ({ choices: [{ index: 0, delta: fields }] });
      const chunks = [
        delta({ role: 'assistant' }),
        ...pieces(content, places).map((piece) => delta({ content: piece })),
        ...told.flatMap(({ id, name, arguments: args, cuts: where }, index) => [
          delta({ tool_calls: [{ index, id, type: 'function', function: { name } }] }),
          ...pieces(args, where).map((piece) =>
            delta({ tool_calls: [{ index, function: { arguments: piece } }] }),
          ),
        ]),
        { choices: [{ index: 0, delta: {}, finish_reason: 'length' }] },
      ];
      const toolCalls = told.map(({ id, name, arguments: args }) => ({
        id,
        type: 'function',
        function: { name, arguments: args },
      }));
      expect(assembled(chunks)).toEqual({
        object: 'chat.completion',
        choices: [
          {
            index: 0,
            message: {
              role: 'assistant',
              content,
              ...(told.length === 0 ? {} : { tool_calls: toolCalls }),
            },
            finish_reason: 'length',
          },
        ],
      });
    }),
  );
});

test('an answer that is made a chunk and assembled again is the same answer', () => {
  const answer = fc.record({
    id: text,
    object: fc.constant('chat.completion'),
    created: fc.nat(),
    model: text,
    usage: fc.record({ total_tokens: fc.nat() }),
    choices: fc.tuple(
      fc.record({
        index: fc.constant(0),
        message: fc.record({ role: fc.constant('assistant'), content: text }),
        finish_reason: fc.constantFrom('stop', 'length', 'content_filter'),
      }),
    ),
  });
  fc.assert(
    fc.property(answer, (whole) => {
      expect(assembled(chunksOf(whole, true))).toEqual(whole);
    }),
  );
});

const thoughts = (key: string, ...told: readonly object[]) => ({
  events: [
    ...told.map((piece) => ({ choices: [{ delta: { [key]: [piece] } }] })),
    { choices: [{ delta: { content: 'Hi' }, finish_reason: 'stop' }] },
  ],
  assembly: createAssembly,
  at: (whole: unknown) => memberOf((memberOf(whole, 'choices') as object[])[0], 'message', key),
});

test.each([
  {
    // github.com/strands-agents/harness-sdk/issues/1789
    what: 'a thought of LiteLLM, with its signature behind it',
    ...thoughts(
      'thinking_blocks',
      { type: 'thinking', thinking: 'H', signature: null },
      { type: 'thinking', thinking: 'm.', signature: null },
      { type: 'thinking', thinking: '', signature: 's1' },
      { type: 'thinking', thinking: 'Oh', signature: 's2' },
      { type: 'redacted_thinking', data: 'x' },
      { type: 'redacted_thinking', data: 'y' },
    ),
    whole: [
      { type: 'thinking', thinking: 'Hm.', signature: 's1' },
      { type: 'thinking', thinking: 'Oh', signature: 's2' },
      { type: 'redacted_thinking', data: 'x' },
      { type: 'redacted_thinking', data: 'y' },
    ],
  },
  {
    // github.com/pensarai/apex/issues/534
    what: 'a thought of OpenRouter, with its signature behind it',
    ...thoughts(
      'reasoning_details',
      { type: 'reasoning.text', text: 'H', format: 'f', index: 0 },
      { type: 'reasoning.text', text: 'm.', format: 'f', index: 0 },
      { type: 'reasoning.text', signature: 's', format: 'f', index: 0 },
      { type: 'reasoning.encrypted', data: 'x', format: 'f', index: 1 },
    ),
    whole: [
      { type: 'reasoning.text', text: 'Hm.', signature: 's', format: 'f', index: 0 },
      { type: 'reasoning.encrypted', data: 'x', format: 'f', index: 1 },
    ],
  },
  {
    // github.com/NousResearch/hermes-agent/issues/92764
    what: 'items of a response that are never done, behind which the output is empty',
    events: [
      { type: 'response.output_item.added', output_index: 0, item: { id: 'm', type: 'message' } },
      { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'Y' },
      { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'es' },
      {
        type: 'response.output_item.added',
        output_index: 1,
        item: { id: 'f', type: 'function_call', call_id: 'c', name: 'a', arguments: '' },
      },
      { type: 'response.function_call_arguments.delta', output_index: 1, delta: '{"n"' },
      { type: 'response.function_call_arguments.delta', output_index: 1, delta: ':1}' },
      { type: 'response.completed', response: { status: 'completed', output: [] } },
    ],
    assembly: () => RESPONSES.answer.stream?.createAssembly?.(),
    at: (whole: unknown) => memberOf(whole, 'output'),
    whole: [
      { id: 'm', type: 'message', content: [{ type: 'output_text', text: 'Yes' }] },
      { id: 'f', type: 'function_call', call_id: 'c', name: 'a', arguments: '{"n":1}' },
    ],
  },
  ...[{}, { output: null }].map((last) => ({
    what: `a text of a response that ends with ${JSON.stringify(last)}`,
    events: [
      { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'Y' },
      { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'es' },
      { type: 'response.completed', response: { status: 'completed', ...last } },
    ],
    assembly: () => RESPONSES.answer.stream?.createAssembly?.(),
    at: (whole: unknown) => memberOf(whole, 'output'),
    whole: [
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Yes' }] },
    ],
  })),
])('what comes in pieces is one in a whole answer: $what', ({ events, assembly, at, whole }) => {
  expect(at(assembled(events, assembly()))).toEqual(whole);
});

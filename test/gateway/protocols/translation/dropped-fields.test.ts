import { expect, test } from 'vitest';
import { MESSAGES_TRANSLATION } from '../../../../main/gateway/protocols/messages/endpoint.ts';
import { RESPONSES_TRANSLATION } from '../../../../main/gateway/protocols/responses/endpoint.ts';
import type { ProtocolTranslation } from '../../../../main/gateway/protocols/translation/translation.ts';
import { AGENTS } from '../../../upstreams/agents.ts';
import { sentBody } from './translated.ts';

const HI = { role: 'user', content: 'Hi' };
const user = (content: object) => [{ role: 'user', content: [content] }];

const ASKED = { model: 'm', max_tokens: 9, messages: [HI] };
const INPUT = { model: 'm', input: [HI] };

/** What is left out of a request, and the chat body that remains. */
function translated(protocol: ProtocolTranslation, request: object) {
  const asked = protocol.toChat(request, null);
  const body = sentBody(asked);
  return asked.kind === 'chat' ? { dropped: asked.dropped, body } : { dropped: null, body };
}

const named = (...paths: string[]) => ({ named: paths, others: 0 });

type Row = [path: string, fields: object, without?: object];

/** Each path with the request that has it, and the same without. */
function leavesOut(protocol: ProtocolTranslation, whole: object, rows: Row[]): void {
  test.each<Row>(rows)(
    'a field that chat completions lack is left out and named: %s',
    (path, fields, without = {}) => {
      const { dropped, body } = translated(protocol, { ...whole, ...fields });
      expect(dropped).toEqual(named(path));
      expect(body).toEqual(translated(protocol, { ...whole, ...without }).body);
    },
  );
}

const tool = { name: 'look', input_schema: { type: 'object' } };
const advisor = { type: 'advisor_20260301', name: 'advisor', model: 'm' };
const schema = { type: 'json_schema', schema: { type: 'object' } };

leavesOut(MESSAGES_TRANSLATION, ASKED, [
  ['inference_geo', { inference_geo: 'eu' }],
  ['fallbacks', { fallbacks: [] }],
  ['foo', { foo: true }],
  ['thread', { thread: { type: 'create' } }],
  ['metadata.team', { metadata: { team: 'x' } }],
  ['output_config.task_budget', { output_config: { task_budget: { total: 1 } } }],
  ['output_config.effort', { output_config: { effort: 'beyond' } }],
  [
    'output_config.format.name',
    { output_config: { format: { ...schema, name: 'n' } } },
    { output_config: { format: schema } },
  ],
  ['thinking.block_binding', { thinking: { type: 'adaptive', block_binding: {} } }],
  ['tools[0].new_field', { tools: [{ ...tool, new_field: 1 }] }, { tools: [tool] }],
  [
    'tool_choice.new_field',
    { tools: [tool], tool_choice: { type: 'any', new_field: 1 } },
    { tools: [tool], tool_choice: { type: 'any' } },
  ],
  ['messages[0].new_field', { messages: [{ ...HI, new_field: 1 }] }],
  [
    'messages[0].content[0].new_field',
    { messages: user({ type: 'text', text: 'Hi', new_field: 1 }) },
  ],
  [
    'messages[1].output_config',
    { messages: [HI, { role: 'system', output_config: { effort: 'low' } }] },
  ],
  [
    'messages[1].content[0].type=tool_removal',
    {
      messages: [
        HI,
        {
          role: 'system',
          content: [{ type: 'tool_removal', tool: { type: 'tool_reference', name: 'look' } }],
        },
      ],
    },
  ],
  // With it Claude Code asks a second model (SaladDay/cc-switch-cli#468).
  ['tools[1].type=advisor_20260301', { tools: [tool, advisor] }, { tools: [tool] }],
]);

const look = { type: 'function', name: 'look', parameters: { type: 'object' } };
const image = { type: 'input_image', image_url: 'https://x.test/a.png' };

leavesOut(RESPONSES_TRANSLATION, INPUT, [
  [
    'input[1].type=web_search_call',
    { input: [HI, { type: 'web_search_call', action: { type: 'search', query: 'x' } }] },
  ],
  ['new_field', { new_field: 1 }],
  ['access_programs', { access_programs: { cyber: 'standard' } }],
  ['service_tier', { service_tier: 'flex' }],
  ['reasoning.new_field', { reasoning: { new_field: 1 } }],
  ['reasoning.effort', { reasoning: { effort: 'beyond' } }],
  ['reasoning.mode', { reasoning: { mode: 'newest' } }],
  ['text.new_field', { text: { new_field: 1 } }],
  ['text.verbosity', { text: { verbosity: 'silent' } }],
  ['text.format.new_field', { text: { format: { type: 'text', new_field: 1 } } }],
  ['tools[0].output_schema', { tools: [{ ...look, output_schema: {} }] }, { tools: [look] }],
  [
    'tool_choice.new_field',
    { tools: [look], tool_choice: { type: 'function', name: 'look', new_field: 1 } },
    { tools: [look], tool_choice: { type: 'function', name: 'look' } },
  ],
  ['input[0].new_field', { input: [{ ...HI, new_field: 1 }] }],
  [
    'input[0].content[0].new_field',
    { input: user({ type: 'input_text', text: 'Hi', new_field: 1 }) },
  ],
  [
    'input[0].content[0].detail',
    { input: user({ ...image, detail: 'newest' }) },
    { input: user(image) },
  ],
]);

test('the first twenty dropped fields are named and the others are counted', () => {
  const many = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`new_${n}`, 1]));
  const dropped = translated(MESSAGES_TRANSLATION, { ...ASKED, ...many }).dropped;
  expect(dropped).toMatchObject({ named: { length: 20 }, others: 10 });
});

test('a request of Claude Code has no field that is refused or unknown', () => {
  const request = { model: 'm', ...AGENTS['Claude Code'].asks };
  expect(translated(MESSAGES_TRANSLATION, request).dropped).toEqual(named());
});

test('a request of Codex for a model unknown to it loses only the tools that it works without, which are named', () => {
  const { dropped, body } = translated(RESPONSES_TRANSLATION, { model: 'm', ...AGENTS.Codex.asks });
  expect(dropped).toEqual(named('tools[2].type=web_search'));
  expect(body['tools']).toMatchObject([
    { function: { name: 'weather' } },
    { function: { name: 'agents__weather' } },
  ]);
});

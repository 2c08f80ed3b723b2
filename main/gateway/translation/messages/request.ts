import { createConversation } from '../conversation.ts';
import { bodyReader, createFindings, type FieldReader, NO_COUNTERPART } from '../findings.ts';
import { PASSED_FIELDS, passedFields, userField } from '../passed-fields.ts';
import type { Translated } from '../translation.ts';
import { readMessages, readSystem } from './content.ts';
import { readTools } from './tools.ts';

const TRANSLATED: readonly string[] = (
  'messages system max_tokens stop_sequences metadata thinking output_config tools ' +
  'tool_choice mcp_servers'
).split(' ');

/** These only concern Anthropic's own caches, tiers, accounts and statistics. */
const LEFT_OUT: readonly string[] =
  'cache_control context_management diagnostics service_tier speed user_profile_id workspace_id'.split(
    ' ',
  );

const KNOWN = [...PASSED_FIELDS, ...TRANSLATED, ...LEFT_OUT];

/** Translates the body of a Messages API request to chat completions. */
export function toChat(body: unknown): Translated {
  return translate(body, true);
}

/** Like `toChat`, for a request to count tokens, which has no `max_tokens`. */
export function toCountedChat(body: unknown): Translated {
  return translate(body, false);
}

function translate(body: unknown, isToBeAnswered: boolean): Translated {
  const findings = createFindings();
  const reader = bodyReader(body, findings);
  reader.refuseOthers(KNOWN);
  if ((reader.list('mcp_servers') ?? []).length > 0) {
    reader.unsupported('mcp_servers', 'only the provider itself calls MCP servers.');
  }

  const conversation = createConversation();
  readSystem(reader, conversation);
  readMessages(reader, conversation);

  const maxTokens = reader.number('max_tokens');
  if (isToBeAnswered) checkAnswerable(reader);
  const stops = reader.list('stop_sequences') ?? [];
  const effort = readEffort(reader);
  return findings.result({
    ...passedFields(reader),
    messages: conversation.messages(),
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
    ...(stops.length > 0 && { stop: stops }),
    ...(effort !== undefined && { reasoning_effort: effort }),
    ...readFormat(reader),
    ...readTools(reader),
    ...userField(reader.inner('metadata')?.text('user_id')),
  });
}

function checkAnswerable(reader: FieldReader): void {
  if (!reader.has('max_tokens')) reader.bad('max_tokens', 'must be a number');
  // Some upstreams would start a new answer, others would continue this one.
  const last = reader.elements('messages').at(-1);
  if (last?.text('role') === 'assistant') {
    last.unsupported(
      'role',
      "the last message must be the user's; continuing a partial answer is not supported here.",
    );
  }
}

/** The effort for a reasoning budget below this; Anthropic's smallest budget is 1024. */
const EFFORTS: readonly (readonly [budgetTokens: number, effort: string])[] = [
  [4096, 'low'],
  [16_384, 'medium'],
  [Infinity, 'high'],
];

function readEffort(reader: FieldReader): string | undefined {
  const output = reader.inner('output_config');
  output?.refuseOthers(['effort', 'format']);
  const effort = output?.text('effort');
  const thinking = reader.inner('thinking');
  thinking?.refuseOthers(['type', 'budget_tokens', 'display']);
  const type = thinking?.requiredText('type');
  switch (type) {
    case 'disabled':
      return 'none';
    case 'enabled': {
      const budget = thinking?.number('budget_tokens');
      if (budget === undefined) thinking?.bad('budget_tokens', 'must be a number');
      return effort ?? EFFORTS.find(([below]) => (budget ?? 0) < below)?.[1];
    }
    case undefined:
    case 'adaptive':
      return effort;
    default:
      thinking?.unsupported('type', NO_COUNTERPART);
      return undefined;
  }
}

function readFormat(reader: FieldReader): object {
  const format = reader.inner('output_config')?.inner('format') ?? null;
  if (format === null) return {};
  if (format.requiredText('type') !== 'json_schema') format.unsupported('type', NO_COUNTERPART);
  if (!format.has('schema')) format.bad('schema', 'must be a JSON schema');
  // Chat completions require a name, which nobody reads.
  const json_schema = { name: 'answer', schema: format.object('schema'), strict: true };
  return { response_format: { type: 'json_schema', json_schema } };
}

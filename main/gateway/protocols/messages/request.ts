import { createConversation } from '../translation/conversation.ts';
import {
  bodyReader,
  createFindings,
  fieldNames,
  type FieldReader,
  NO_COUNTERPART,
} from '../translation/findings.ts';
import {
  PASSED_FIELDS,
  passedFields,
  readEffort,
  userField,
} from '../translation/passed-fields.ts';
import type { Translated } from '../translation/translation.ts';
import { readMessages, readSystem } from './content.ts';
import { readTools } from './tools.ts';

const TRANSLATED = fieldNames(
  'messages system max_tokens stop_sequences metadata thinking output_config output_format tools tool_choice',
);

/** These change the answer. */
const REFUSED = fieldNames('container mcp_servers compaction thread');

/** These only concern Anthropic's own caches, tiers, accounts and statistics; Claude Code sends some with each request. */
const LEFT_OUT = fieldNames(
  'cache_control context_management diagnostics service_tier speed user_profile_id workspace_id',
);

const KNOWN: ReadonlySet<string> = new Set([
  ...PASSED_FIELDS,
  ...TRANSLATED,
  ...REFUSED,
  ...LEFT_OUT,
]);

const METADATA = fieldNames('user_id');
const OUTPUT = fieldNames('effort format');
const THINKING = fieldNames('type budget_tokens display');
const FORMAT = fieldNames('type schema');

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
  reader.dropOthers(KNOWN);
  refuseState(reader);

  const conversation = createConversation();
  readSystem(reader, conversation);
  readMessages(reader, conversation);

  const maxTokens = reader.number('max_tokens');
  if (isToBeAnswered) checkAnswerable(reader);
  const stops = reader.list('stop_sequences') ?? [];
  const metadata = reader.inner('metadata');
  metadata?.dropOthers(METADATA);
  const output = reader.inner('output_config');
  output?.dropOthers(OUTPUT);
  const effort = effortOf(
    reader.inner('thinking'),
    output === null ? undefined : readEffort(output),
  );
  return findings.result({
    ...passedFields(reader),
    messages: conversation.messages(),
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
    ...(stops.length > 0 && { stop: stops }),
    ...(effort !== undefined && { reasoning_effort: effort }),
    // The second name is that of earlier versions.
    ...readFormat(output?.inner('format') ?? reader.inner('output_format')),
    ...readTools(reader),
    ...userField(metadata?.text('user_id')),
  });
}

function refuseState(reader: FieldReader): void {
  if (reader.has('container')) reader.unsupported('container', NO_COUNTERPART);
  if ((reader.list('mcp_servers') ?? []).length > 0) {
    reader.unsupported('mcp_servers', 'only the provider itself calls MCP servers.');
  }
  const thread = reader.inner('thread');
  if (thread === null) return;
  if (thread.text('type') === 'create') reader.drop('thread');
  else {
    thread.unsupported(
      'type',
      'this upstream keeps no earlier messages; send the whole conversation.',
    );
  }
}

function checkAnswerable(reader: FieldReader): void {
  if (!reader.has('max_tokens')) reader.bad('max_tokens', 'must be a number');
  // The answer would be a summary in place of a reply.
  if (reader.has('compaction')) reader.unsupported('compaction', NO_COUNTERPART);
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

function effortOf(thinking: FieldReader | null, effort: string | undefined): string | undefined {
  if (thinking === null) return effort;
  thinking.dropOthers(THINKING);
  switch (thinking.requiredText('type')) {
    case 'disabled':
      return 'none';
    case 'enabled': {
      const budget = thinking.number('budget_tokens');
      if (budget === undefined) thinking.bad('budget_tokens', 'must be a number');
      return effort ?? EFFORTS.find(([below]) => (budget ?? 0) < below)?.[1];
    }
    case 'adaptive':
      return effort;
    default:
      thinking.unsupported('type', NO_COUNTERPART);
      return undefined;
  }
}

function readFormat(format: FieldReader | null): object {
  if (format === null) return {};
  format.dropOthers(FORMAT);
  if (format.requiredText('type') !== 'json_schema') format.unsupported('type', NO_COUNTERPART);
  if (!format.has('schema')) format.bad('schema', 'must be a JSON schema');
  // Chat completions require a name, which nobody reads.
  const json_schema = { name: 'answer', schema: format.object('schema'), strict: true };
  return { response_format: { type: 'json_schema', json_schema } };
}

import { createConversation } from '../conversation.ts';
import {
  bodyReader,
  createFindings,
  type FieldReader,
  isAbsent,
  NO_COUNTERPART,
} from '../findings.ts';
import type { ItemSource } from '../item-memory.ts';
import { PASSED_FIELDS, passedFields, userField } from '../passed-fields.ts';
import type { Translated } from '../translation.ts';
import { readInput } from './input.ts';
import { readTools } from './tools.ts';

const TRANSLATED: readonly string[] = (
  'input instructions store user safety_identifier max_output_tokens reasoning text ' +
  'tools tool_choice parallel_tool_calls truncation previous_response_id background top_logprobs ' +
  'service_tier include'
).split(' ');

/** These only concern stored answers, built-in tools, caches, or a client's own statistics. */
const LEFT_OUT: readonly string[] = (
  'metadata max_tool_calls stream_options client_metadata prompt_cache_key ' +
  'prompt_cache_retention prompt_cache_options'
).split(' ');

const KNOWN = [...PASSED_FIELDS, ...TRANSLATED, ...LEFT_OUT];

/** Translates the body of a Responses API request to chat completions. */
export function toChat(body: unknown, items: ItemSource | null): Translated {
  const findings = createFindings();
  const reader = bodyReader(body, findings);
  reader.refuseOthers(KNOWN);
  refuseState(reader);

  const conversation = createConversation();
  const instructions = reader.text('instructions');
  // Some clients send an empty text for none, and chat templates without a system role reject even that.
  if (instructions !== undefined && instructions !== '') conversation.system(instructions);
  readInput(reader, conversation, items);

  const maxTokens = reader.number('max_output_tokens');
  const effort = readReasoning(reader);
  return findings.result({
    ...passedFields(reader),
    messages: conversation.messages(),
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
    ...(effort !== undefined && { reasoning_effort: effort }),
    ...readText(reader),
    ...readTools(reader),
    ...userField(reader.text('user') ?? reader.text('safety_identifier')),
  });
}

function refuseState(reader: FieldReader): void {
  if (reader.has('previous_response_id')) {
    reader.unsupported(
      'previous_response_id',
      'this upstream keeps no earlier responses; send the whole conversation in input.',
    );
  }
  if (reader.flag('background') === true) reader.unsupported('background', NO_COUNTERPART);
  if ((reader.number('top_logprobs') ?? 0) > 0) reader.unsupported('top_logprobs', NO_COUNTERPART);
  if ((reader.text('truncation') ?? 'disabled') !== 'disabled') {
    reader.unsupported('truncation', 'this upstream truncates nothing; shorten input instead.');
  }
  const tier = reader.text('service_tier');
  if (tier !== undefined && !STANDARD_TIERS.has(tier)) {
    reader.unsupported('service_tier', NO_COUNTERPART);
  }
  for (const [index, what] of (reader.list('include') ?? []).entries()) {
    if (what !== LOGPROBS) continue;
    reader.unsupported(`include[${index}]`, 'log probabilities are not translated.');
  }
}

const STANDARD_TIERS: ReadonlySet<string> = new Set(['auto', 'default']);

/** Everything else that `include` can name belongs to built-in tools, or is encrypted by its provider. */
const LOGPROBS = 'message.output_text.logprobs';

function readReasoning(reader: FieldReader): string | undefined {
  const reasoning = reader.inner('reasoning');
  if (reasoning === null) return undefined;
  reasoning.refuseOthers(['effort', 'mode', 'summary', 'generate_summary', 'context']);
  if ((reasoning.text('mode') ?? 'standard') !== 'standard') {
    reasoning.unsupported('mode', NO_COUNTERPART);
  }
  return reasoning.text('effort');
}

function readText(reader: FieldReader): object {
  const text = reader.inner('text');
  if (text === null) return {};
  text.refuseOthers(['format', 'verbosity']);
  const verbosity = text.text('verbosity');
  return { ...responseFormat(text), ...(verbosity !== undefined && { verbosity }) };
}

function responseFormat(text: FieldReader): object {
  const format = text.inner('format');
  if (format === null) return {};
  const type = format.requiredText('type');
  switch (type) {
    case 'text':
      return {};
    case 'json_object':
      return { response_format: { type } };
    case 'json_schema': {
      const description = format.text('description');
      const strict = format.flag('strict');
      if (isAbsent(format.get('schema'))) format.bad('schema', 'must be a JSON schema');
      const schema = {
        name: format.requiredText('name'),
        ...(description !== undefined && { description }),
        schema: format.object('schema'),
        ...(strict !== undefined && { strict }),
      };
      return { response_format: { type, json_schema: schema } };
    }
    default:
      format.unsupported(
        'type',
        `a format of type '${type}' has no counterpart in chat completions.`,
      );
      return {};
  }
}

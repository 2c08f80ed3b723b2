import { createConversation } from '../translation/conversation.ts';
import {
  bodyReader,
  createFindings,
  fieldNames,
  type FieldReader,
  isAbsent,
  NO_COUNTERPART,
} from '../translation/findings.ts';
import type { ItemSource } from './item-memory.ts';
import {
  PASSED_FIELDS,
  passedFields,
  readEffort,
  userField,
} from '../translation/passed-fields.ts';
import type { Translated } from '../translation/translation.ts';
import { readInput } from './input.ts';
import { readTools } from './tools.ts';

const TRANSLATED = fieldNames(
  'input instructions store user safety_identifier prompt_cache_key max_output_tokens reasoning text tools tool_choice parallel_tool_calls service_tier include',
);

/** These change the answer, most of them with some of their values only. */
const REFUSED = fieldNames(
  'previous_response_id conversation prompt background generate truncation context_management moderation top_logprobs',
);

/** These only concern stored answers, built-in tools, caches, or a client's own statistics; Codex sends some each time. */
const LEFT_OUT = fieldNames(
  'metadata max_tool_calls stream_options client_metadata prompt_cache_retention prompt_cache_options',
);

const KNOWN: ReadonlySet<string> = new Set([
  ...PASSED_FIELDS,
  ...TRANSLATED,
  ...REFUSED,
  ...LEFT_OUT,
]);

/** Translates the body of a Responses API request to chat completions. */
export function toChat(body: unknown, items: ItemSource | null): Translated {
  const findings = createFindings();
  const reader = bodyReader(body, findings);
  reader.dropOthers(KNOWN);
  refuseState(reader);
  refuseOtherAnswers(reader);

  const conversation = createConversation();
  const instructions = reader.text('instructions');
  // Some clients send an empty text for none, and chat templates without a system role reject even that.
  if (instructions !== undefined && instructions !== '') conversation.system(instructions);
  readInput(reader, conversation, items);

  const maxTokens = reader.number('max_output_tokens');
  const effort = effortOf(reader);
  const cacheKey = reader.text('prompt_cache_key');
  return findings.result({
    ...passedFields(reader),
    messages: conversation.messages(),
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
    ...(effort !== undefined && { reasoning_effort: effort }),
    ...readText(reader),
    ...readTools(reader),
    ...userField(reader.text('user') ?? reader.text('safety_identifier')),
    ...(cacheKey !== undefined && { prompt_cache_key: cacheKey }),
  });
}

/** What an upstream would have to keep, or to know of itself. */
function refuseState(reader: FieldReader): void {
  if (reader.has('previous_response_id')) {
    reader.unsupported(
      'previous_response_id',
      'this upstream keeps no earlier responses; send the whole conversation in input.',
    );
  }
  if (reader.has('conversation')) {
    reader.unsupported('conversation', 'this upstream keeps no conversations; send it in input.');
  }
  if (reader.has('prompt')) {
    reader.unsupported('prompt', 'this upstream keeps no prompts; send it in instructions.');
  }
  if (reader.flag('background') === true) reader.unsupported('background', NO_COUNTERPART);
}

/** What the answer would lack, or would be about. */
function refuseOtherAnswers(reader: FieldReader): void {
  // Both only fill a cache.
  if (reader.flag('generate') === false) reader.unsupported('generate', NO_COUNTERPART);
  const cache = reader.inner('prompt_cache_options');
  if (cache?.flag('prewarm') === true) cache.unsupported('prewarm', NO_COUNTERPART);
  if ((reader.text('truncation') ?? 'disabled') !== 'disabled') {
    reader.unsupported('truncation', 'this upstream truncates nothing; shorten input instead.');
  }
  if ((reader.list('context_management') ?? []).length > 0) {
    reader.unsupported('context_management', 'this upstream shortens nothing; shorten input.');
  }
  if (reader.has('moderation')) reader.unsupported('moderation', NO_COUNTERPART);
  if ((reader.number('top_logprobs') ?? 0) > 0) reader.unsupported('top_logprobs', NO_COUNTERPART);
  for (const [index, what] of (reader.list('include') ?? []).entries()) {
    if (what !== LOGPROBS) continue;
    reader.unsupported(`include[${index}]`, 'log probabilities are not translated.');
  }
  // Another tier has another price or speed.
  reader.oneOf('service_tier', STANDARD_TIERS);
}

const STANDARD_TIERS = fieldNames('auto default');

/** Everything else that `include` can name belongs to built-in tools, or is encrypted by its provider. */
const LOGPROBS = 'message.output_text.logprobs';

const REASONING = fieldNames('effort mode summary generate_summary context');
const MODES = fieldNames('standard');

function effortOf(reader: FieldReader): string | undefined {
  const reasoning = reader.inner('reasoning');
  if (reasoning === null) return undefined;
  reasoning.dropOthers(REASONING);
  if (reasoning.get('mode') === 'pro') reasoning.unsupported('mode', NO_COUNTERPART);
  else reasoning.oneOf('mode', MODES);
  return readEffort(reasoning);
}

const TEXT = fieldNames('format verbosity');
const VERBOSITIES = fieldNames('low medium high');
const FORMAT = fieldNames('type name description schema strict');

function readText(reader: FieldReader): object {
  const text = reader.inner('text');
  if (text === null) return {};
  text.dropOthers(TEXT);
  const verbosity = text.oneOf('verbosity', VERBOSITIES);
  return { ...responseFormat(text), ...(verbosity !== undefined && { verbosity }) };
}

function responseFormat(text: FieldReader): object {
  const format = text.inner('format');
  if (format === null) return {};
  format.dropOthers(FORMAT);
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

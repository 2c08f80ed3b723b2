import { isObject } from '../../../platform/json.ts';
import {
  type ChatPart,
  type Conversation,
  createConversation,
  textPart,
} from '../translation/conversation.ts';
import {
  bodyReader,
  type ChatTool,
  chatTool,
  fieldNames,
  type FieldReader,
  isAbsent,
  NONE,
  offeredTools,
  passedFields,
  readEffort,
  schemaFormat,
  toolFields,
  userField,
} from '../translation/field-reader.ts';
import type { TranslationResult } from '../translation/translation.ts';
import type { ItemSource } from './item-memory.ts';

/* What is left out without a word. */

/** Only for stored answers, built-in tools, caches, or a client's own statistics; Codex sends some each time. */
const OF_BODY = fieldNames(
  'store safety_identifier metadata max_tool_calls stream_options client_metadata prompt_cache_retention',
);
const OF_REASONING = fieldNames('summary generate_summary context');
const OF_FUNCTION = fieldNames('defer_loading');
/** Of items of any type: for their provider, or the client that made them. */
const OF_ITEM = fieldNames('id name status phase summary encrypted_content caller async');
/** Of parts of any type: for caches, or what an earlier answer told. */
const OF_PART = fieldNames('annotations logprobs prompt_cache_breakpoint');

/** Translates the body of a Responses API request to chat completions. */
export function toChat(body: unknown, items: ItemSource | null): TranslationResult {
  const { reader, result } = bodyReader(body, OF_BODY);
  refuseState(reader);
  refuseOtherAnswers(reader);

  const conversation = createConversation();
  const instructions = reader.text('instructions');
  // Some clients send an empty text for none, and chat templates without a system role reject even that.
  if (instructions !== undefined && instructions !== '') conversation.system(instructions);
  readInput(reader, conversation, items);

  return result({
    ...passedFields(reader),
    messages: conversation.messages(),
    max_tokens: reader.number('max_output_tokens'),
    reasoning_effort: effortOf(reader),
    ...readText(reader),
    ...readTools(reader),
    ...userField(reader.text('user') ?? reader.text('safety_identifier')),
    prompt_cache_key: reader.text('prompt_cache_key'),
  });
}

/** What an upstream would have to keep. */
const STATE = {
  previous_response_id:
    'this upstream keeps no earlier responses; send the whole conversation in input.',
  conversation: 'this upstream keeps no conversations; send it in input.',
  prompt: 'this upstream keeps no prompts; send it in instructions.',
};

function refuseState(reader: FieldReader): void {
  for (const [key, why] of Object.entries(STATE)) if (reader.has(key)) reader.unsupported(key, why);
  if (reader.flag('background') === true) reader.unsupported('background');
}

/** What the answer would lack, or would be about. */
function refuseOtherAnswers(reader: FieldReader): void {
  // Both only fill a cache.
  if (reader.flag('generate') === false) reader.unsupported('generate');
  const cache = reader.inner('prompt_cache_options');
  if (cache?.flag('prewarm') === true) cache.unsupported('prewarm');
  if ((reader.text('truncation') ?? 'disabled') !== 'disabled') {
    reader.unsupported('truncation', 'this upstream truncates nothing; shorten input instead.');
  }
  if (reader.list('context_management').length > 0) {
    reader.unsupported('context_management', 'this upstream shortens nothing; shorten input.');
  }
  if (reader.has('moderation')) reader.unsupported('moderation');
  if ((reader.number('top_logprobs') ?? 0) > 0) reader.unsupported('top_logprobs');
  for (const [index, what] of reader.list('include').entries()) {
    if (what !== LOGPROBS) continue;
    reader.unsupported(`include[${index}]`, 'log probabilities are not translated.');
  }
  // Another tier has another price or speed.
  reader.oneOf('service_tier', STANDARD_TIERS);
}

const STANDARD_TIERS = fieldNames('auto default');

/** Everything else that `include` can name belongs to built-in tools, or is encrypted by its provider. */
const LOGPROBS = 'message.output_text.logprobs';

const MODES = fieldNames('standard');

function effortOf(reader: FieldReader): string | undefined {
  const reasoning = reader.inner('reasoning', OF_REASONING);
  if (reasoning === null) return undefined;
  if (reasoning.get('mode') === 'pro') reasoning.unsupported('mode');
  else reasoning.oneOf('mode', MODES);
  return readEffort(reasoning);
}

const VERBOSITIES = fieldNames('low medium high');

function readText(reader: FieldReader): object {
  const text = reader.inner('text', NONE);
  if (text === null) return {};
  const verbosity = text.oneOf('verbosity', VERBOSITIES);
  return { ...responseFormat(text), verbosity };
}

function responseFormat(text: FieldReader): object {
  const format = text.inner('format', NONE);
  if (format === null) return {};
  const formats: Record<string, () => object> = {
    text: () => ({}),
    json_object: () => ({ response_format: { type: 'json_object' } }),
    json_schema: () =>
      schemaFormat(format, {
        name: format.requiredText('name'),
        description: format.text('description'),
        strict: format.flag('strict'),
      }),
  };
  return format.byType('a format', formats) ?? {};
}

const CHOICES = fieldNames('none auto required');
/**
 * Codex 0.169 adds a web search to its own functions in every request (ggml-org/llama.cpp#20156), with names of OpenAI's
 * models the search for tools and the patch, with its login images. It works without: its shell searches and patches, too.
 */
const ADDED_BY_AGENTS = fieldNames('web_search image_generation tool_search custom:apply_patch');

/** `tools`, `tool_choice` and `parallel_tool_calls` of a chat completion. */
function readTools(reader: FieldReader): object {
  const tools = offeredTools(reader, {
    choice: reader.get('tool_choice'),
    isOwn: (tool) => tool.get('type') === 'function' || tool.get('type') === 'namespace',
    read: (tool) => (tool.get('type') === 'namespace' ? readNamespace(tool) : [readFunction(tool)]),
    isAdded: (tool, type) =>
      ADDED_BY_AGENTS.has(type === 'custom' ? `custom:${tool.requiredText('name')}` : type),
    only: 'functions',
  });
  const { choice, allowed } = readChoice(reader);
  const offered =
    allowed === undefined ? tools : tools.filter(({ function: { name } }) => allowed.has(name));
  checkNames(reader, tools);
  return toolFields(offered, choice, reader.flag('parallel_tool_calls'));
}

/** Two functions with the same name could not be told apart in the answer. */
function checkNames(reader: FieldReader, tools: readonly ChatTool[]): void {
  const names = tools.map((tool) => tool.function.name);
  const seen = new Set(names);
  const twice = names.find((name) => !seen.delete(name));
  if (twice !== undefined) reader.unsupported('tools', `two functions are called '${twice}'.`);
}

/** The description of the namespace is added to that of its first function. */
function readNamespace(tool: FieldReader): readonly ChatTool[] {
  tool.watch(NONE);
  const namespace = tool.requiredText('name');
  const about = tool.text('description');
  return tool.elements('tools').flatMap((inner, index) => {
    if (inner.requiredText('type') === 'function') {
      return [readFunction(inner, namespace, index === 0 ? about : undefined)];
    }
    inner.unsupported('type', 'only functions are translated in a namespace.');
    return [];
  });
}

function readFunction(tool: FieldReader, namespace?: string, about?: string): ChatTool {
  tool.watch(OF_FUNCTION);
  if (tool.flag('async') === true) tool.unsupported('async');
  const texts = [about, tool.text('description')].filter((each) => each !== undefined);
  return chatTool(tool, {
    name: tool.functionName(namespace),
    description: texts.length > 0 ? texts.join('\n\n') : undefined,
    parameters: tool.object('parameters'),
  });
}

interface Choice {
  readonly choice?: string | object;
  /** Names of the only tools that may be called; left out: all. */
  readonly allowed?: ReadonlySet<string>;
}

function readChoice(reader: FieldReader): Choice {
  const value = reader.get('tool_choice');
  if (isAbsent(value)) return {};
  if (typeof value === 'string') {
    if (!CHOICES.has(value)) reader.bad('tool_choice', 'must be none, auto, required or an object');
    return { choice: value };
  }
  const choice = reader.inner('tool_choice', NONE);
  const type = choice?.requiredText('type');
  if (choice === null || type === undefined) return {};
  if (type === 'function') return { choice: { type, function: { name: choice.functionName() } } };
  if (type === 'allowed_tools') return readAllowed(choice);
  choice.unsupported('type', `a choice of '${type}' has no counterpart in chat completions.`);
  return {};
}

/** Offering only the allowed tools has the same effect. */
function readAllowed(choice: FieldReader): Choice {
  const mode = choice.requiredText('mode');
  if (mode !== 'auto' && mode !== 'required') choice.bad('mode', 'must be auto or required');
  const names = choice.elements('tools').flatMap((tool) => {
    if (tool.get('type') === 'function') return tool.functionName();
    // Servers and built-in tools, of which not all have a name.
    tool.unsupported('type');
    return [];
  });
  return { choice: mode, allowed: new Set(names) };
}

/** Adds `input`: a text, or messages, calls, their outputs and reasoning in order. */
function readInput(
  reader: FieldReader,
  conversation: Conversation,
  items: ItemSource | null,
): void {
  const input = reader.get('input');
  // What is kept elsewhere may be all of it; `refuseState` has said that it is not kept here.
  if (isAbsent(input) && Object.keys(STATE).some((key) => reader.has(key))) return;
  if (typeof input === 'string') {
    conversation.user([textPart(input)]);
    return;
  }
  if (!Array.isArray(input) || input.length === 0) {
    reader.bad('input', 'must be a string or a non-empty array');
    return;
  }
  for (const item of reader.elements('input')) readItem(item, conversation, items);
}

/** What agents do at OpenAI between two messages; the answer to it is in the second. */
const DONE_BY_THE_HOST = fieldNames('web_search_call tool_search_call tool_search_output');

function readItem(item: FieldReader, conversation: Conversation, items: ItemSource | null): void {
  const type = item.text('type') ?? (item.has('role') ? 'message' : 'item_reference');
  if (DONE_BY_THE_HOST.has(type)) return item.dropWhole(type);
  item.watch(OF_ITEM);
  const readOutput = () =>
    conversation.toolResult(item.requiredText('call_id'), readParts(item, 'output'));
  const readers = {
    message: () => readMessage(item, conversation),
    reasoning: () => readReasoning(item, conversation),
    function_call: () => conversation.call(calledIn(item, item.requiredText('arguments'))),
    // Codex's patch, in a conversation that began at OpenAI (MetaFARS/codex-relay#39).
    custom_tool_call: () =>
      conversation.call(calledIn(item, JSON.stringify({ input: item.requiredText('input') }))),
    function_call_output: readOutput,
    custom_tool_call_output: readOutput,
    item_reference: () => readReference(item, conversation, items),
  };
  item.byType('an item', readers, type);
}

const calledIn = (item: FieldReader, json: string) => ({
  id: item.requiredText('call_id'),
  name: item.functionName(item.text('namespace')),
  arguments: json,
});

function readMessage(item: FieldReader, conversation: Conversation): void {
  switch (item.requiredText('role')) {
    case 'user':
      return conversation.user(readParts(item, 'content'));
    // Few chat templates know `developer`.
    case 'developer':
    case 'system':
      return conversation.system(textsOf(item).join('\n\n'));
    case 'assistant':
      for (const text of ['', ...textsOf(item)]) conversation.assistant(text);
      return;
    default:
      item.bad('role', 'must be user, assistant, system or developer');
  }
}

/** Encrypted reasoning is left out: only its provider can read it. */
function readReasoning(item: FieldReader, conversation: Conversation): void {
  const own = item.elements('content');
  const parts = own.length > 0 ? own : item.elements('summary');
  for (const part of parts) conversation.reasoning(part.requiredText('text'));
}

function readReference(
  item: FieldReader,
  conversation: Conversation,
  items: ItemSource | null,
): void {
  const id = item.requiredText('id');
  const found = items?.find(id);
  if (isObject(found)) return readItem(item.replacedBy(found), conversation, null);
  const why = `item '${id}' is not kept here; send the item itself, as clients do with "store": false.`;
  item.unsupported('id', why);
}

/** The parts of a message's `content` or of a call's `output`. */
function readParts(item: FieldReader, key: string): ChatPart[] {
  return item.parts(key, OF_PART).flatMap((part) => readPart(part) ?? []);
}

function readPart(part: FieldReader): ChatPart | null {
  const asText = () => textPart(part.requiredText('text'));
  const readers: Record<string, () => ChatPart | null> = {
    input_text: asText,
    output_text: asText,
    text: asText,
    refusal: () => textPart(part.requiredText('refusal')),
    input_image: () => readImage(part),
    input_file: () => readFile(part),
    input_audio: () => ({ type: 'input_audio', input_audio: part.object('input_audio') }),
  };
  return part.byType('a part', readers) ?? null;
}

const DETAILS = fieldNames('auto low high original');

function readImage(part: FieldReader): ChatPart | null {
  const refused = 'this upstream keeps no files; send image_url, as a URL or base64.';
  if (part.has('file_id')) return part.unsupported('file_id', refused);
  const url = part.requiredText('image_url');
  const detail = part.oneOf('detail', DETAILS) ?? 'auto';
  // Chat completions have no detail above "high".
  const known = detail === 'original' ? 'high' : detail;
  return { type: 'image_url', image_url: { url, ...(known !== 'auto' && { detail: known }) } };
}

function readFile(part: FieldReader): ChatPart | null {
  const key = ['file_id', 'file_url'].find((each) => part.has(each));
  const refused = 'this upstream fetches and keeps no files; send file_data.';
  if (key !== undefined) return part.unsupported(key, refused);
  const data = part.requiredText('file_data');
  return { type: 'file', file: { filename: part.text('filename') ?? 'file', file_data: data } };
}

/** The texts of a message that may contain only text. */
function textsOf(item: FieldReader): string[] {
  return readParts(item, 'content').flatMap((part) => {
    if (part.type === 'text') return part.text;
    item.unsupported('content', 'only user messages may contain images, files or audio.');
    return [];
  });
}

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
  NONE,
  offeredTools,
  passedFields,
  readEffort,
  schemaFormat,
  toolFields,
  userField,
} from '../translation/field-reader.ts';
import type { TranslationResult } from '../translation/translation.ts';

/* What is left out without a word. */

/** Only for Anthropic's own caches, tiers, accounts and statistics; Claude Code sends some with each request. */
const OF_BODY = fieldNames(
  'cache_control context_management diagnostics service_tier speed user_profile_id workspace_id',
);
const OF_THINKING = fieldNames('budget_tokens display');
const OF_TOOL = fieldNames('cache_control defer_loading eager_input_streaming');
/** Of blocks of any type: for caches, signatures, and who called a tool. */
const OF_BLOCK = fieldNames('cache_control citations signature data id caller toolset_name');

/** @param isToBeAnswered and not only counted, which needs no `max_tokens` */
export function toChat(body: unknown, isToBeAnswered: boolean): TranslationResult {
  const { reader, result } = bodyReader(body, OF_BODY);
  refuseState(reader);

  const conversation = createConversation();
  if (reader.has('system')) readSystem(reader, 'system', conversation);
  const messages = reader.elements('messages', NONE);
  if (messages.length === 0) reader.bad('messages', 'must be a non-empty array');
  for (const message of messages) readMessage(message, conversation);

  const maxTokens = reader.number('max_tokens');
  if (isToBeAnswered) checkAnswerable(reader);
  const stops = reader.list('stop_sequences');
  const output = reader.inner('output_config', NONE);
  return result({
    ...passedFields(reader),
    messages: conversation.messages(),
    max_tokens: maxTokens,
    stop: stops.length > 0 ? stops : undefined,
    reasoning_effort: effortOf(reader.inner('thinking', OF_THINKING), output && readEffort(output)),
    // The second name is that of earlier versions.
    ...readFormat(output?.inner('format', NONE) ?? reader.inner('output_format', NONE)),
    ...readTools(reader),
    ...userField(reader.inner('metadata', NONE)?.text('user_id')),
  });
}

function refuseState(reader: FieldReader): void {
  if (reader.has('container')) reader.unsupported('container');
  if (reader.list('mcp_servers').length > 0) {
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
  if (reader.has('compaction')) reader.unsupported('compaction');
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

function effortOf(
  thinking: FieldReader | null,
  asked: string | undefined | null,
): string | undefined {
  const effort = asked ?? undefined;
  if (thinking === null) return effort;
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
      thinking.unsupported('type');
      return undefined;
  }
}

function readFormat(format: FieldReader | null): object {
  if (format === null) return {};
  if (format.requiredText('type') !== 'json_schema') format.unsupported('type');
  // Chat completions require a name, which nobody reads.
  return schemaFormat(format, { name: 'answer', strict: true });
}

/** `tools`, `tool_choice` and `parallel_tool_calls` of a chat completion. */
function readTools(reader: FieldReader): object {
  const choice = reader.inner('tool_choice', NONE);
  const tools = offeredTools(reader, {
    choice: choice?.text('type'),
    isOwn: (tool) => (tool.text('type') ?? 'custom') === 'custom',
    read: readTool,
    // Claude Code adds one to its own tools (SaladDay/cc-switch-cli#468), and works without.
    isAdded: (_tool, type) => type.startsWith('advisor_'),
    only: 'tools with an input_schema',
  });
  const chosen = choice === null ? undefined : readChoice(choice);
  const isSerial = choice?.flag('disable_parallel_tool_use') === true;
  return toolFields(tools, chosen, isSerial ? false : undefined);
}

function readTool(tool: FieldReader): readonly ChatTool[] {
  tool.watch(OF_TOOL);
  if (!tool.has('input_schema')) tool.bad('input_schema', 'must be a JSON schema');
  const name = tool.functionName();
  const parameters = tool.object('input_schema');
  return [chatTool(tool, { name, description: describe(tool), parameters })];
}

/** In chat completions, the description is the only place for examples. */
function describe(tool: FieldReader): string | undefined {
  const description = tool.text('description');
  const examples = tool.list('input_examples');
  if (examples.length === 0) return description;
  const lines = examples.map((example) => JSON.stringify(example));
  return [description, 'Examples of input:', ...lines]
    .filter((each) => each !== undefined)
    .join('\n');
}

const CHOICES = new Map([
  ['auto', 'auto'],
  ['none', 'none'],
  ['any', 'required'],
]);

function readChoice(choice: FieldReader): string | object | undefined {
  const type = choice.requiredText('type');
  if (type === 'tool') return { type: 'function', function: { name: choice.functionName() } };
  const word = CHOICES.get(type);
  if (word === undefined) choice.bad('type', 'must be auto, any, tool or none');
  return word;
}

function readSystem(reader: FieldReader, key: string, conversation: Conversation): void {
  const texts = reader.parts(key, OF_BLOCK).flatMap(systemTexts);
  if (texts.length > 0) conversation.system(texts.join('\n\n'));
}

function systemTexts(block: FieldReader): string[] {
  const readers = {
    text: () => [block.requiredText('text')],
    // Claude Code names tools here that `tools` defines (juspay/neurolink#1717), which are offered from the start.
    tool_addition() {
      if (block.inner('tool')?.text('type') !== 'tool_reference') block.unsupported('type');
      return [];
    },
    tool_removal() {
      block.dropWhole('tool_removal');
      return [];
    },
  };
  return block.byType('a block', readers, block.text('type') ?? 'text') ?? [];
}

function readMessage(message: FieldReader, conversation: Conversation): void {
  const role = message.requiredText('role');
  switch (role) {
    case 'user':
      return readUser(message, conversation);
    case 'assistant':
      return readAssistant(message, conversation);
    case 'system':
      // One may only set the effort from here on.
      if (!message.has('content') && message.has('output_config'))
        return message.drop('output_config');
      return readSystem(message, 'content', conversation);
    default:
      message.bad('role', 'must be user, assistant or system');
  }
}

/** Results come first, because chat completions require them right after their calls. */
function readUser(message: FieldReader, conversation: Conversation): void {
  const blocks = message.parts('content', OF_BLOCK);
  const isResult = (block: FieldReader) => block.text('type') === 'tool_result';
  const results = blocks.filter(isResult);
  for (const block of results) readResult(block, conversation);
  const parts = blocks.filter((block) => !isResult(block)).flatMap(readUserBlock);
  if (parts.length > 0 || results.length === 0) conversation.user(parts);
}

/** A block that a user may send, in a message or in a tool's result. */
function readUserBlock(block: FieldReader): ChatPart[] {
  const readers = {
    text: () => [textPart(block.requiredText('text'))],
    image: () => readImage(block),
    document: () => readDocument(block),
    search_result: () => readSearchResult(block),
    // The result of a search for tools; here, all tools are offered from the start.
    tool_reference: () => [textPart(`Tool found: ${block.requiredText('tool_name')}`)],
  };
  return block.byType('a block', readers) ?? [];
}

/** Marks the result of a failed tool call; chat completions have no field for this. */
const FAILED = 'Error: ';

function readResult(block: FieldReader, conversation: Conversation): void {
  const parts = block.has('content') ? block.parts('content', OF_BLOCK).flatMap(readUserBlock) : [];
  const told = block.flag('is_error') === true ? withFailure(parts) : parts;
  conversation.toolResult(block.requiredText('tool_use_id'), told);
}

function withFailure([first, ...rest]: readonly ChatPart[]): ChatPart[] {
  if (first?.type === 'text') return [textPart(FAILED + first.text), ...rest];
  return [textPart(FAILED), ...(first === undefined ? [] : [first]), ...rest];
}

function readAssistant(message: FieldReader, conversation: Conversation): void {
  // A turn of which nothing can be told, such as redacted thinking, stays between the user's.
  conversation.assistant('');
  for (const block of message.parts('content', OF_BLOCK)) {
    block.byType('a block', {
      text: () => conversation.assistant(block.requiredText('text')),
      thinking: () => conversation.reasoning(block.requiredText('thinking')),
      // Encrypted, so no other provider can read it.
      redacted_thinking: () => undefined,
      tool_use: () =>
        conversation.call({
          id: block.requiredText('id'),
          name: block.functionName(),
          arguments: JSON.stringify(block.object('input') ?? {}),
        }),
    });
  }
}

function readImage(block: FieldReader): ChatPart[] {
  const source = block.requiredInner('source');
  switch (source.requiredText('type')) {
    case 'base64':
      return [{ type: 'image_url', image_url: { url: dataUrl(source) } }];
    case 'url':
      return [{ type: 'image_url', image_url: { url: source.requiredText('url') } }];
    default:
      source.unsupported('type', 'this upstream keeps no files; send the data as base64.');
      return [];
  }
}

function dataUrl(source: FieldReader): string {
  return `data:${source.requiredText('media_type')};base64,${source.requiredText('data')}`;
}

/** Plain text becomes text; a PDF becomes a file, which not every upstream reads. */
function readDocument(block: FieldReader): ChatPart[] {
  refuseCitations(block);
  const title = block.text('title');
  const head = [title, block.text('context')].filter((text) => text !== undefined).join('\n');
  const intro: ChatPart[] = head === '' ? [] : [textPart(head)];
  const source = block.requiredInner('source');
  switch (source.requiredText('type')) {
    case 'text':
      return [...intro, textPart(source.requiredText('data'))];
    case 'content':
      return [...intro, ...source.parts('content').flatMap(readInnerPart)];
    case 'base64': {
      const file = { filename: title ?? 'document.pdf', file_data: dataUrl(source) };
      return [...intro, { type: 'file', file }];
    }
    default:
      source.unsupported('type', 'this upstream fetches and keeps no files; send base64.');
      return [];
  }
}

/** The content of a document: text and images. */
const readInnerPart = (block: FieldReader): ChatPart[] =>
  block.text('type') === 'image' ? readImage(block) : [textPart(block.requiredText('text'))];

/** As one text, with its title and source. */
function readSearchResult(block: FieldReader): ChatPart[] {
  refuseCitations(block);
  const texts = block.elements('content').map((each) => each.requiredText('text'));
  const text = [block.requiredText('title'), block.requiredText('source'), ...texts].join('\n');
  return [textPart(text)];
}

function refuseCitations(block: FieldReader): void {
  const citations = block.inner('citations');
  if (citations?.flag('enabled') === true) citations.unsupported('enabled');
}

import type { ChatPart, Conversation } from '../translation/conversation.ts';
import { fieldNames, type FieldReader, NO_COUNTERPART } from '../translation/findings.ts';

export function readSystem(reader: FieldReader, conversation: Conversation): void {
  if (reader.has('system')) readSystemText(reader, 'system', conversation);
}

function readSystemText(reader: FieldReader, key: string, conversation: Conversation): void {
  const value = reader.get(key);
  if (typeof value === 'string') {
    conversation.system(value);
    return;
  }
  if (!Array.isArray(value)) return reader.bad(key, 'must be a string or an array of text blocks');
  const texts = reader.elements(key).flatMap(systemTexts);
  if (texts.length > 0) conversation.system(texts.join('\n\n'));
}

function systemTexts(block: FieldReader): string[] {
  block.dropOthers(BLOCK);
  const type = block.text('type') ?? 'text';
  switch (type) {
    case 'text':
      return [block.requiredText('text')];
    // Claude Code names tools here that `tools` defines (juspay/neurolink#1717), which are offered from the start.
    case 'tool_addition':
      if (block.inner('tool')?.text('type') !== 'tool_reference') refuse(block, type);
      return [];
    case 'tool_removal':
      block.dropWhole(type);
      return [];
    default:
      refuse(block, type);
      return [];
  }
}

const MESSAGE = fieldNames('role content');

/** Of blocks of any type; those that are not read only concern caches, signatures and who called a tool. */
const BLOCK = fieldNames(
  'type text cache_control citations source title context content tool tool_name thinking signature data id name input caller toolset_name tool_use_id is_error',
);

/** Adds `messages`. */
export function readMessages(reader: FieldReader, conversation: Conversation): void {
  const messages = reader.elements('messages');
  if (messages.length === 0) reader.bad('messages', 'must be a non-empty array');
  for (const message of messages) readMessage(message, conversation);
}

function readMessage(message: FieldReader, conversation: Conversation): void {
  message.dropOthers(MESSAGE);
  const role = message.requiredText('role');
  switch (role) {
    case 'user':
      return readUser(message, conversation);
    case 'assistant':
      return readAssistant(message, conversation);
    case 'system':
      // One may only set the effort from here on.
      if (!message.has('content') && message.has('output_config')) return;
      return readSystemText(message, 'content', conversation);
    default:
      message.bad('role', 'must be user, assistant or system');
  }
}

/** The blocks of `content`; if it is a text, `add` is called with the text. */
function blocksOf(message: FieldReader, add: (text: string) => void): FieldReader[] {
  const content = message.get('content');
  if (typeof content === 'string') {
    add(content);
    return [];
  }
  if (!Array.isArray(content)) message.bad('content', 'must be a string or an array of blocks');
  return Array.isArray(content) ? message.elements('content') : [];
}

/** Results come first, because chat completions require them right after their calls. */
function readUser(message: FieldReader, conversation: Conversation): void {
  const parts: ChatPart[] = [];
  const blocks = blocksOf(message, (text) => void parts.push({ type: 'text', text }));
  let results = 0;
  for (const block of blocks) {
    if (block.text('type') === 'tool_result') {
      results += 1;
      readResult(block, conversation);
    } else {
      parts.push(...readUserBlock(block));
    }
  }
  if (parts.length > 0 || results === 0) conversation.user(parts);
}

/** A block that a user may send, in a message or in a tool's result. */
function readUserBlock(block: FieldReader): ChatPart[] {
  block.dropOthers(BLOCK);
  const type = block.requiredText('type');
  switch (type) {
    case 'text':
      return [{ type: 'text', text: block.requiredText('text') }];
    case 'image':
      return readImage(block);
    case 'document':
      return readDocument(block);
    case 'search_result':
      return readSearchResult(block);
    // The result of a search for tools; here, all tools are offered from the start.
    case 'tool_reference':
      return [{ type: 'text', text: `Tool found: ${block.requiredText('tool_name')}` }];
    default:
      refuse(block, type);
      return [];
  }
}

function refuse(block: FieldReader, type: string): void {
  block.unsupported('type', `a block of type '${type}' has no counterpart in chat completions.`);
}

/** Marks the result of a failed tool call; chat completions have no field for this. */
const FAILED = 'Error: ';

function readResult(block: FieldReader, conversation: Conversation): void {
  block.dropOthers(BLOCK);
  const parts: ChatPart[] = [];
  if (block.flag('is_error') === true) parts.push({ type: 'text', text: FAILED });
  if (block.has('content')) {
    const inner = blocksOf(block, (text) => void parts.push({ type: 'text', text }));
    for (const each of inner) parts.push(...readUserBlock(each));
  }
  conversation.toolResult(block.requiredText('tool_use_id'), withFailureInText(parts));
}

/** Joins "Error: " and the text after it into one part. */
function withFailureInText(parts: readonly ChatPart[]): readonly ChatPart[] {
  const [first, second, ...rest] = parts;
  if (first?.type !== 'text' || first.text !== FAILED || second?.type !== 'text') return parts;
  return [{ type: 'text', text: FAILED + second.text }, ...rest];
}

function readAssistant(message: FieldReader, conversation: Conversation): void {
  const blocks = blocksOf(message, (text) => conversation.assistant(text));
  // A turn of which nothing can be told, such as redacted thinking, stays between the user's.
  conversation.assistant('');
  for (const block of blocks) readAssistantBlock(block, conversation);
}

function readAssistantBlock(block: FieldReader, conversation: Conversation): void {
  block.dropOthers(BLOCK);
  const type = block.requiredText('type');
  switch (type) {
    case 'text':
      conversation.assistant(block.requiredText('text'));
      return;
    case 'thinking':
      conversation.reasoning(block.requiredText('thinking'));
      return;
    // Encrypted, so no other provider can read it.
    case 'redacted_thinking':
      return;
    case 'tool_use':
      conversation.call({
        id: block.requiredText('id'),
        name: block.requiredText('name'),
        arguments: JSON.stringify(block.object('input') ?? {}),
      });
      return;
    default:
      refuse(block, type);
  }
}

function readImage(block: FieldReader): ChatPart[] {
  const source = block.inner('source');
  if (source === null) {
    block.bad('source', 'must be an object');
    return [];
  }
  const type = source.requiredText('type');
  switch (type) {
    case 'base64':
      return [image(dataUrl(source))];
    case 'url':
      return [image(source.requiredText('url'))];
    default:
      source.unsupported('type', KEEPS_NO_FILES);
      return [];
  }
}

const KEEPS_NO_FILES = 'this upstream keeps no files; send the data as base64.';

const image = (url: string): ChatPart => ({ type: 'image_url', image_url: { url } });

function dataUrl(source: FieldReader): string {
  return `data:${source.requiredText('media_type')};base64,${source.requiredText('data')}`;
}

/** Plain text becomes text; a PDF becomes a file, which not every upstream reads. */
function readDocument(block: FieldReader): ChatPart[] {
  refuseCitations(block);
  const title = block.text('title');
  const context = block.text('context');
  const head = [title, context].filter((text) => text !== undefined).join('\n');
  const intro: ChatPart[] = head === '' ? [] : [{ type: 'text', text: head }];
  const source = block.inner('source');
  if (source === null) {
    block.bad('source', 'must be an object');
    return [];
  }
  switch (source.requiredText('type')) {
    case 'text':
      return [...intro, { type: 'text', text: source.requiredText('data') }];
    case 'content':
      return [...intro, ...innerParts(source)];
    case 'base64': {
      const file = { filename: title ?? 'document.pdf', file_data: dataUrl(source) };
      return [...intro, { type: 'file', file }];
    }
    default:
      source.unsupported('type', 'this upstream fetches and keeps no files; send base64.');
      return [];
  }
}

/** The content of a document: a text, or blocks of text and images. */
function innerParts(source: FieldReader): ChatPart[] {
  const content = source.get('content');
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return source.elements('content').flatMap((block) => {
    if (block.text('type') === 'image') return readImage(block);
    return [{ type: 'text', text: block.requiredText('text') }];
  });
}

/** As one text, with its title and source. */
function readSearchResult(block: FieldReader): ChatPart[] {
  refuseCitations(block);
  const texts = block.elements('content').map((each) => each.requiredText('text'));
  const text = [block.requiredText('title'), block.requiredText('source'), ...texts].join('\n');
  return [{ type: 'text', text }];
}

function refuseCitations(block: FieldReader): void {
  const citations = block.inner('citations');
  if (citations?.flag('enabled') === true) citations.unsupported('enabled', NO_COUNTERPART);
}

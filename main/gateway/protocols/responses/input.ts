import { isObject } from '#shared/objects.ts';
import type { ChatPart, Conversation } from '../translation/conversation.ts';
import { fieldNames, type FieldReader } from '../translation/findings.ts';
import type { ItemSource } from './item-memory.ts';
import { flatName } from './tools.ts';

/** Adds `input`: a text, or messages, calls, their outputs and reasoning in order. */
export function readInput(
  reader: FieldReader,
  conversation: Conversation,
  items: ItemSource | null,
): void {
  const input = reader.get('input');
  if (typeof input === 'string') {
    conversation.user([{ type: 'text', text: input }]);
    return;
  }
  if (!Array.isArray(input) || input.length === 0) {
    reader.bad('input', 'must be a string or a non-empty array');
    return;
  }
  for (const item of reader.elements('input')) readItem(item, conversation, items);
}

/** Of items of any type; those that are not read only concern their provider, or the client that made them. */
const ITEM = fieldNames(
  'type id role content status phase summary encrypted_content call_id name namespace arguments output caller async',
);

function readItem(item: FieldReader, conversation: Conversation, items: ItemSource | null): void {
  item.dropOthers(ITEM);
  const type = item.text('type') ?? (item.has('role') ? 'message' : 'item_reference');
  switch (type) {
    case 'message':
      return readMessage(item, conversation);
    case 'reasoning':
      return readReasoning(item, conversation);
    case 'function_call':
      return readCall(item, conversation);
    case 'function_call_output':
      conversation.toolResult(item.requiredText('call_id'), readOutput(item));
      return;
    case 'item_reference':
      return readReference(item, conversation, items);
    default:
      item.unsupported('type', `an item of type '${type}' has no counterpart in chat completions.`);
  }
}

function readMessage(item: FieldReader, conversation: Conversation): void {
  const role = item.requiredText('role');
  switch (role) {
    case 'user':
      conversation.user(readContent(item));
      return;
    // Few chat templates know `developer`.
    case 'developer':
    case 'system':
      conversation.system(textsOf(item, readContent(item)).join('\n\n'));
      return;
    case 'assistant':
      conversation.assistant('');
      for (const text of textsOf(item, readContent(item))) conversation.assistant(text);
      return;
    default:
      item.bad('role', 'must be user, assistant, system or developer');
  }
}

function readContent(item: FieldReader): ChatPart[] {
  const content = item.get('content');
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (Array.isArray(content)) return readParts(item, 'content');
  item.bad('content', 'must be a string or an array');
  return [];
}

/** Encrypted reasoning is left out: only its provider can read it. */
function readReasoning(item: FieldReader, conversation: Conversation): void {
  const own = item.elements('content');
  const parts = own.length > 0 ? own : item.elements('summary');
  for (const part of parts) conversation.reasoning(part.requiredText('text'));
}

function readCall(item: FieldReader, conversation: Conversation): void {
  const namespace = item.text('namespace');
  const name = item.requiredText('name');
  conversation.call({
    id: item.requiredText('call_id'),
    name: flatName({ name, ...(namespace !== undefined && { namespace }) }),
    arguments: item.requiredText('arguments'),
  });
}

function readOutput(item: FieldReader): ChatPart[] {
  const output = item.get('output');
  if (typeof output === 'string') return [{ type: 'text', text: output }];
  if (Array.isArray(output)) return readParts(item, 'output');
  item.bad('output', 'must be a string or an array');
  return [];
}

function readReference(
  item: FieldReader,
  conversation: Conversation,
  items: ItemSource | null,
): void {
  const id = item.requiredText('id');
  const found = items?.find(id);
  if (!isObject(found)) {
    item.unsupported(
      'id',
      `item '${id}' is not kept here; send the item itself, as clients do with "store": false.`,
    );
    return;
  }
  readItem(item.replacedBy(found), conversation, null);
}

/** The parts of a message's `content` or of a call's `output`. */
function readParts(item: FieldReader, key: string): ChatPart[] {
  return item.elements(key).flatMap((part) => readPart(part) ?? []);
}

/** Of parts of any type; those that are not read only concern caches, or what an earlier answer told. */
const PART = fieldNames(
  'type text refusal annotations logprobs image_url detail file_id file_url file_data filename input_audio prompt_cache_breakpoint',
);

function readPart(part: FieldReader): ChatPart | null {
  part.dropOthers(PART);
  const type = part.requiredText('type');
  switch (type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return { type: 'text', text: part.requiredText('text') };
    case 'refusal':
      return { type: 'text', text: part.requiredText('refusal') };
    case 'input_image':
      return readImage(part);
    case 'input_file':
      return readFile(part);
    case 'input_audio':
      return { type: 'input_audio', input_audio: part.object('input_audio') };
    default:
      part.unsupported('type', `a part of type '${type}' has no counterpart in chat completions.`);
      return null;
  }
}

const DETAILS = fieldNames('auto low high original');

function readImage(part: FieldReader): ChatPart | null {
  if (part.has('file_id')) {
    part.unsupported(
      'file_id',
      'this upstream keeps no files; send image_url, as a URL or base64.',
    );
    return null;
  }
  const url = part.requiredText('image_url');
  const detail = part.oneOf('detail', DETAILS) ?? 'auto';
  return {
    type: 'image_url',
    // Chat completions have no detail above "high".
    image_url: {
      url,
      ...(detail !== 'auto' && { detail: detail === 'original' ? 'high' : detail }),
    },
  };
}

function readFile(part: FieldReader): ChatPart | null {
  for (const key of ['file_id', 'file_url']) {
    if (!part.has(key)) continue;
    part.unsupported(key, 'this upstream fetches and keeps no files; send file_data.');
    return null;
  }
  const data = part.requiredText('file_data');
  return { type: 'file', file: { filename: part.text('filename') ?? 'file', file_data: data } };
}

/** The texts of a message that may contain only text. */
function textsOf(item: FieldReader, parts: readonly ChatPart[]): string[] {
  return parts.flatMap((part) => {
    if (part.type === 'text') return part.text;
    item.unsupported('content', 'only user messages may contain images, files or audio.');
    return [];
  });
}

import { isObject, listOf, memberOf, parseJson } from '../../../platform/json.ts';
import { SIGNATURE } from './answers.ts';
import {
  type BodyChange,
  editedEach,
  editedList,
  editedObjects,
  elementsOf,
  hashedId,
  smallValueOf,
  withMembers,
} from '../json-edit.ts';
import { type Member, type Span, topLevelMembers } from '../json-scan.ts';

type Json = Readonly<Record<string, unknown>>;

const THINKING: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking']);

/**
 * The body for an upstream that speaks the Messages API, without thoughts that it would take for forged: those that
 * the gateway signed itself, and those of engines that sign none. For an engine of one's own only the gateway's
 * signature is taken away.
 */
export function withoutUnsigned(bytes: Buffer, { isLocal }: { readonly isLocal: boolean }): Buffer {
  if (!UNSIGNED.some((mark) => bytes.includes(mark))) return bytes;
  const members = topLevelMembers(bytes);
  return (
    (isLocal ? unsigned(bytes, members) : withoutThoughts(bytes, members, isUnsigned)) ?? bytes
  );
}

const isUnsigned = ({ type, signature = '' }: Json): boolean =>
  type === 'thinking' && (signature === SIGNATURE || signature === '');

/** Thoughts as llama.cpp, vLLM and Ollama tell them. */
const unsigned = withBlocks(SIGNATURE, (block) =>
  block['type'] === 'thinking' && block['signature'] === SIGNATURE
    ? { ...block, signature: '' }
    : block,
);

/** As they stand in a body, written with and without blanks. */
const UNSIGNED = [`"${SIGNATURE}"`, '"signature":""', '"signature": ""'].map((mark) =>
  Buffer.from(mark),
);

/** The body without any thought; null if it has none. */
export function withoutThinking(bytes: Buffer, members: readonly Member[]): Buffer | null {
  return withoutThoughts(bytes, members, ({ type }) => THINKING.has(type));
}

function withoutThoughts(
  bytes: Buffer,
  members: readonly Member[],
  isDropped: (block: Json) => boolean,
): Buffer | null {
  const list = members.find(({ key }) => key === 'messages');
  if (list === undefined) return null;
  const messages = editedList(bytes, list, ['thinking'], (each) => edited(each, isDropped));
  if (messages === null) return null;
  const left = withMembers(bytes, members, { messages });
  return isLoopWithoutThought(messages) && thinks(bytes, members)
    ? (withThinkingOff(left, topLevelMembers(left)) ?? left)
    : left;
}

/** An empty list if nothing is left of the turn, as an empty one is refused. */
function edited(message: unknown, isDropped: (block: Json) => boolean): unknown {
  if (!isObject(message) || message['role'] !== 'assistant') return message;
  const before = listOf(message['content']);
  const content = before.filter((block) => !isObject(block) || !isDropped(block));
  if (content.length === before.length) return message;
  return content.length === 0 ? [] : { ...message, content };
}

/** With `adaptive` thinking no turn has to begin with a thought (platform.claude.com/docs, Adaptive thinking). */
function thinks(bytes: Buffer, members: readonly Member[]): boolean {
  return memberOf(smallValueOf(bytes, members, 'thinking'), 'type') === 'enabled';
}

/** Whether the conversation goes on behind a tool's result, and the turn that called the tool has no thought. */
function isLoopWithoutThought(messages: Buffer): boolean {
  const [caller, last] = elementsOf(messages, { start: 0, end: messages.length }).slice(-2);
  if (caller === undefined || last === undefined) return false;
  const isResult = (part: unknown) => memberOf(part, 'type') === 'tool_result';
  if (!contentAt(messages, last).some(isResult)) return false;
  const [first] = contentAt(messages, caller);
  return !THINKING.has(memberOf(first, 'type'));
}

const contentAt = (messages: Buffer, { start, end }: Span): readonly unknown[] =>
  listOf(memberOf(parseJson(messages.toString('utf8', start, end)), 'content'));

/** The body with thinking switched off, and what is taken only with it; null if it is not on. */
export function withThinkingOff(bytes: Buffer, members: readonly Member[]): Buffer | null {
  const type = memberOf(smallValueOf(bytes, members, 'thinking'), 'type');
  if (typeof type !== 'string' || type === 'disabled') return null;
  const values: Record<string, string> = { thinking: '{"type":"disabled"}' };
  const management = smallValueOf(bytes, members, 'context_management');
  if (isObject(management)) {
    const edits = listOf(management['edits']).filter((edit) => !isAboutThinking(edit));
    values['context_management'] = JSON.stringify({ ...management, edits });
  }
  return withMembers(bytes, members, values);
}

/** Anthropic takes `clear_thinking_20251015` only while it thinks. */
const isAboutThinking = (edit: unknown): boolean =>
  String(memberOf(edit, 'type')).startsWith('clear_thinking');

/** The body with ids of calls that every host takes, the same in a call and in its result; null if they are. */
export const withPlainCallIds = withBlocks('"tool_use', (block) => {
  const name = block['type'] === 'tool_result' ? 'tool_use_id' : 'id';
  const id = block[name];
  if (typeof id !== 'string' || /^[\w-]+$/.test(id)) return block;
  return { ...block, [name]: callId(id) };
});

/** `edit` gets the blocks of messages with this word in them. */
function withBlocks(word: string, edit: (block: Json) => Json): BodyChange {
  return editedObjects('messages', [word], (message) => {
    const before = listOf(message['content']);
    const content = editedEach(before, edit);
    return content === before ? message : { ...message, content };
  });
}

const callId = (id: string): string => `call_${hashedId(id, 24)}`;

/**
 * The body with ids of calls that no two calls have; null if they are. A result answers the last call before it that has
 * its id.
 */
export const withUniqueCallIds: BodyChange = (bytes, members) => {
  /** How many calls have had each id. */
  const used = new Map<unknown, number>();
  const idOf = (id: unknown) => {
    const count = used.get(id) ?? 1;
    return count === 1 ? id : callId(`${String(id)} ${count}`);
  };
  const withUnique = withBlocks('"tool_use', (block) => {
    const { type, id, tool_use_id: answered } = block;
    if (type === 'tool_use') used.set(id, (used.get(id) ?? 0) + 1);
    const name = type === 'tool_result' ? 'tool_use_id' : 'id';
    const unique = idOf(type === 'tool_result' ? answered : id);
    return unique === block[name] ? block : { ...block, [name]: unique };
  });
  return withUnique(bytes, members);
};

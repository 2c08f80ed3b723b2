import { isObject, listOf, memberOf, parseJson } from '../../../platform/json.ts';
import { SIGNATURE } from './answers.ts';
import { type Member, smallValueOf, topLevelMembers, withMembers } from '../json-edit.ts';
import { editedEach, editedObjects, elementsOf } from '../turns.ts';

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
const unsigned = editedObjects('messages', [SIGNATURE], (message) => {
  const before = listOf(message['content']);
  const content = editedEach(before, (block) =>
    block['type'] === 'thinking' && block['signature'] === SIGNATURE
      ? { ...block, signature: '' }
      : block,
  );
  return content === before ? message : { ...message, content };
});

/** As they stand in a body, written with and without blanks. */
const UNSIGNED = [`"${SIGNATURE}"`, '"signature":""', '"signature": ""'].map((mark) =>
  Buffer.from(mark),
);

/** The body without any thought, and with thinking off where that leaves none that a host would want; null if it has neither. */
export function withoutThinking(bytes: Buffer, members: readonly Member[]): Buffer | null {
  const isThought = ({ type }: Json) => THINKING.has(type);
  return withoutThoughts(bytes, members, isThought) ?? withThinkingOff(bytes, members);
}

function withoutThoughts(
  bytes: Buffer,
  members: readonly Member[],
  isDropped: (block: Json) => boolean,
): Buffer | null {
  const edit = (message: Json) => edited(message, isDropped);
  const left = editedObjects('messages', ['thinking'], edit)(bytes, members);
  if (left === null) return null;
  const all = topLevelMembers(left);
  return isLoopWithoutThought(left, all) && thinks(left, all)
    ? (withThinkingOff(left, all) ?? left)
    : left;
}

/** An empty list if nothing is left of the turn, as an empty one is refused. */
function edited(message: Json, isDropped: (block: Json) => boolean): Json | readonly Json[] {
  if (message['role'] !== 'assistant') return message;
  const before = listOf(message['content']);
  const content = before.filter((block) => !isObject(block) || !isDropped(block));
  if (content.length === before.length) return message;
  if (content.length > 0) return { ...message, content };
  // Chat completions keep calls apart from the content.
  return listOf(message['tool_calls']).length > 0 ? { ...message, content: null } : [];
}

/** With `adaptive` thinking no turn has to begin with a thought (platform.claude.com/docs, Adaptive thinking). */
function thinks(bytes: Buffer, members: readonly Member[]): boolean {
  return memberOf(smallValueOf(bytes, members, 'thinking'), 'type') === 'enabled';
}

/** Whether the conversation goes on behind a tool's result, and the turn that called the tool has no thought. */
function isLoopWithoutThought(bytes: Buffer, members: readonly Member[]): boolean {
  const list = members.find(({ key }) => key === 'messages');
  const turns = list === undefined ? [] : elementsOf(bytes, list).slice(-2);
  const [before, last] = turns.map(({ start, end }) =>
    listOf(memberOf(parseJson(bytes.toString('utf8', start, end)), 'content')),
  );
  const isResult = (part: unknown) => memberOf(part, 'type') === 'tool_result';
  return last?.some(isResult) === true && !THINKING.has(memberOf(before?.[0], 'type'));
}

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

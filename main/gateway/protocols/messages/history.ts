import { isObject, listOf, memberOf, parseJson } from '../../../platform/json.ts';
import { SIGNATURE } from './answers.ts';
import {
  type BodyChange,
  type JsonBody,
  memberAt,
  smallValueOf,
  withMembers,
} from '../json-edit.ts';
import { editedObjects, editedWithin, elementsOf } from '../turns.ts';

type Json = Readonly<Record<string, unknown>>;

const THINKING: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking']);

/**
 * The body for an upstream that speaks the Messages API, without thoughts that it would take for forged: those that
 * the gateway signed itself, and those of engines that sign none. For an engine of one's own only the gateway's
 * signature is taken away.
 */
export function withoutUnsigned(
  body: JsonBody,
  { isLocal }: { readonly isLocal: boolean },
): JsonBody {
  if (!UNSIGNED.some((mark) => body.bytes.includes(mark))) return body;
  return (isLocal ? unsigned(body) : withoutThoughts(body, isUnsigned)) ?? body;
}

const isUnsigned = ({ type, signature = '' }: Json): boolean =>
  type === 'thinking' && (signature === SIGNATURE || signature === '');

/** Thoughts as llama.cpp, vLLM and Ollama tell them. */
const unsigned = editedObjects('messages', [SIGNATURE], (message) =>
  editedWithin(message, 'content', (block) =>
    block['type'] === 'thinking' && block['signature'] === SIGNATURE
      ? { ...block, signature: '' }
      : block,
  ),
);

/** As they stand in a body, written with and without blanks. */
const UNSIGNED = [`"${SIGNATURE}"`, '"signature":""', '"signature": ""'].map((mark) =>
  Buffer.from(mark),
);

/** The body without any thought, and with thinking off where that leaves none that a host would want; null if it has neither. */
export const withoutThinking: BodyChange = (body) =>
  withoutThoughts(body, ({ type }) => THINKING.has(type)) ?? withThinkingOff(body);

function withoutThoughts(body: JsonBody, isDropped: (block: Json) => boolean): JsonBody | null {
  const edit = (message: Json) => edited(message, isDropped);
  const left = editedObjects('messages', ['thinking'], edit)(body);
  // With `adaptive` thinking no turn has to begin with a thought (platform.claude.com/docs, Adaptive thinking).
  const isRefused = left !== null && isLoopWithoutThought(left) && thinkingOf(left) === 'enabled';
  return isRefused ? withThinkingOff(left) : left;
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

const thinkingOf = (body: JsonBody) => memberOf(smallValueOf(body, 'thinking'), 'type');

/** Whether the conversation goes on behind a tool's result, and the turn that called the tool has no thought. */
function isLoopWithoutThought(body: JsonBody): boolean {
  const list = memberAt(body, 'messages');
  const turns = list === undefined ? [] : elementsOf(body.bytes, list).slice(-2);
  const [before, last] = turns.map(({ start, end }) =>
    listOf(memberOf(parseJson(body.bytes.toString('utf8', start, end)), 'content')),
  );
  const isResult = (part: unknown) => memberOf(part, 'type') === 'tool_result';
  return last?.some(isResult) === true && !THINKING.has(memberOf(before?.[0], 'type'));
}

/** The body with thinking switched off, and what is taken only with it; null if it is not on. */
export const withThinkingOff: BodyChange = (body) => {
  const type = thinkingOf(body);
  if (typeof type !== 'string' || type === 'disabled') return null;
  const values: Record<string, string> = { thinking: '{"type":"disabled"}' };
  const management = smallValueOf(body, 'context_management');
  if (isObject(management)) {
    // Anthropic takes `clear_thinking_20251015` only while it thinks.
    const isLeft = (edit: unknown) => !String(memberOf(edit, 'type')).startsWith('clear_thinking');
    const edits = listOf(management['edits']).filter(isLeft);
    values['context_management'] = JSON.stringify({ ...management, edits });
  }
  return withMembers(body, values);
};

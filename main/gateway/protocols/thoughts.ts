import { isObject, listOf, memberOf, parseJson } from '../../platform/json.ts';
import { type BodyChange, type JsonBody, smallValueOf, withMembers } from './json-edit.ts';
import { type Edit, editedObjects, elementsOf } from './list-edit.ts';
import { SIGNATURE } from './messages/answers.ts';
import { NOT_ENCRYPTED } from './responses/answers.ts';
import { isOwnItemId, type ItemSource } from './responses/item-memory.ts';
import { TURNS, withoutParts } from './turns.ts';

/* Thoughts and ids of items in a conversation: what one host has written, another takes for forged, or does not find. */

type Json = Readonly<Record<string, unknown>>;

const isThought = ({ type }: Json): boolean =>
  type === 'thinking' || type === 'redacted_thinking' || type === 'reasoning';

const isReference = (turn: Json): boolean =>
  !('role' in turn) && (turn['type'] ?? 'item_reference') === 'item_reference';

/** Whether the gateway's translation has written it, or an engine that signs no thoughts. */
function isOwn({ type, id, signature = '', encrypted_content: encrypted }: Json): boolean {
  const isUnsigned = type === 'thinking' && (signature === SIGNATURE || signature === '');
  return isUnsigned || isOwnItemId(id) || encrypted === NOT_ENCRYPTED;
}

/** As they stand in a turn, written with and without blanks; of ids of items the beginnings. */
const OWN_MARKS = [
  `"${SIGNATURE}"`,
  '"signature":""',
  '"signature": ""',
  `"${NOT_ENCRYPTED}"`,
  '"rs_',
  '"msg_',
  '"fc_',
];

/**
 * The body for an upstream that speaks its protocol itself, without what only the gateway's translation understands:
 * thoughts that are not signed or encrypted, and ids of items that no host has stored. References to such items become the
 * items. An engine of one's own keeps both: it reads any thoughts, and minds no id, but vLLM wants one (openai/codex#12669).
 */
export function withoutOwn(
  body: JsonBody,
  { items, isLocal }: { readonly items: ItemSource | null; readonly isLocal: boolean },
): JsonBody {
  const edit: Edit = (sent) => {
    const found = isReference(sent) && isOwn(sent) ? items?.find(String(sent['id'])) : sent;
    const turn = isObject(found) ? found : sent;
    if (!isLocal) return withoutForeign(turn, isOwn);
    const { encrypted_content: encrypted, ...left } = turn;
    return encrypted === NOT_ENCRYPTED ? left : turn;
  };
  return editedThoughts(body, OWN_MARKS, edit) ?? body;
}

/** The body without any thought, and with thinking off where that leaves none that a host would want; null if it has neither. */
export const withoutThoughts: BodyChange = (body) => {
  const edit: Edit = (turn) => withoutForeign(turn, () => true);
  return editedThoughts(body, ['thinking', '"id"', '"reasoning"'], edit) ?? withThinkingOff(body);
};

function withoutForeign(turn: Json, isForeign: (part: Json) => boolean): Json | readonly Json[] {
  const isGone = (part: Json) => isThought(part) && isForeign(part);
  if (turn['role'] === 'assistant' && listOf(turn['content']).filter(isObject).some(isGone))
    return withoutParts(turn, isGone);
  // Reasoning has no place without its id.
  if (isGone(turn)) return [];
  const { id, ...left } = turn;
  return id === undefined || isReference(turn) || !isForeign(turn) ? turn : left;
}

function editedThoughts(body: JsonBody, marks: readonly string[], edit: Edit): JsonBody | null {
  const left = editedObjects(TURNS, marks, edit)(body);
  // With `adaptive` thinking no turn has to begin with a thought (platform.claude.com/docs, Adaptive thinking).
  const isRefused = left !== null && thinkingOf(left) === 'enabled' && isLoopWithoutThought(left);
  return isRefused ? withThinkingOff(left) : left;
}

const thinkingOf = (body: JsonBody) => memberOf(smallValueOf(body, 'thinking'), 'type');

/** Whether the conversation goes on behind a tool's result, and the turn before that does not begin with a thought. */
function isLoopWithoutThought(body: JsonBody): boolean {
  const [before = [], last = []] = elementsOf(body, 'messages')
    .slice(-2)
    .map(({ start, end }) => parseJson(body.bytes.toString('utf8', start, end)))
    .map((turn) => listOf(memberOf(turn, 'content')).filter(isObject));
  return last.some(({ type }) => type === 'tool_result') && !before.slice(0, 1).some(isThought);
}

/** The body with thinking switched off, and without what Anthropic takes only with it; null if it is not on. */
const withThinkingOff: BodyChange = (body) => {
  const type = thinkingOf(body);
  return typeof type !== 'string' || type === 'disabled'
    ? null
    : withMembers(body, { thinking: '{"type":"disabled"}', context_management: null });
};

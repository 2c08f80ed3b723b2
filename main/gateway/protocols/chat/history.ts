import { isObject, listOf, memberOf } from '../../../platform/json.ts';
import {
  type BodyChange,
  editedEach,
  editedList,
  editedObjects,
  elementsOf,
  hashedId,
  withMembers,
} from '../json-edit.ts';
import type { Member } from '../json-scan.ts';

/* Changes of the history in a chat completion, as hosts ask for them. */

type Json = Readonly<Record<string, unknown>>;

const edited = (word: string, edit: (message: Json) => Json | readonly Json[]): BodyChange =>
  editedObjects('messages', [word], edit);

const REASONING = ['reasoning_content', 'reasoning', 'reasoning_details'] as const;

/** Thoughts beside the content, and those that Mistral tells within it. */
export const withoutReasoning = editedObjects(
  'messages',
  ['"reasoning', '"thinking"'],
  (message) => {
    const parts = listOf(message['content']);
    const kept = parts.filter((part) => memberOf(part, 'type') !== 'thinking');
    const isTold = kept.length < parts.length;
    if (!isTold && !REASONING.some((name) => name in message)) return message;
    const {
      reasoning_content: _content,
      reasoning: _text,
      reasoning_details: _all,
      ...left
    } = message;
    return isTold ? { ...left, content: kept.length === 0 ? '' : kept } : left;
  },
);

/** Each turn of the model has a thought, if only a dot. */
export const withFilledReasoning = edited('assistant', (message) => {
  const { role, reasoning_content: known, reasoning } = message;
  if (role !== 'assistant' || (typeof known === 'string' && known !== '')) return message;
  const text = typeof reasoning === 'string' && reasoning !== '' ? reasoning : '.';
  return { ...message, reasoning_content: text };
});

/** Fields of a turn that every host takes; thoughts are a matter of their own. */
const PLAIN: ReadonlySet<string> = new Set(['role', 'content', 'name', 'prefix', ...REASONING]);

/** Turns of the model without what only the host that answered takes back, and without a list of no calls. */
export const withPlainTurns = edited('assistant', (message) => {
  const { role, content, refusal, tool_calls: given } = message;
  if (role !== 'assistant') return message;
  const calls = listOf(given);
  const plain = editedEach(calls, plainCall);
  const kept = Object.entries(message).filter(([name]) => PLAIN.has(name));
  const hasCalls = calls.length > 0;
  const isWhole = kept.length + (hasCalls ? 1 : 0) === Object.keys(message).length;
  if (isWhole && plain === calls) return message;
  return {
    ...Object.fromEntries(kept),
    ...(isNothing(content) && typeof refusal === 'string' ? { content: refusal } : {}),
    ...(hasCalls ? { tool_calls: plain } : {}),
  };
});

const CALL: ReadonlySet<string> = new Set(['id', 'type', 'function']);

function plainCall(call: Json): Json {
  const kept = Object.entries(call).filter(([name]) => CALL.has(name));
  return kept.length === Object.keys(call).length ? call : Object.fromEntries(kept);
}

const isNothing = (content: unknown): boolean =>
  content === undefined ||
  content === null ||
  content === '' ||
  (Array.isArray(content) && content.length === 0);

/** Without turns of the model that neither say nor call anything. */
export const withoutEmptyTurns = edited('assistant', (message) => {
  const { role, content, tool_calls: calls, function_call: call } = message;
  const isEmpty = isNothing(content) && listOf(calls).length === 0 && !isObject(call);
  return role === 'assistant' && isEmpty ? [] : message;
});

/** In place of what the model would have said to a result before anybody else spoke. */
const DONE = { role: 'assistant', content: 'Done.' };

/** With a turn of the model behind results that somebody else's message follows. */
export const withAnswersToResults: BodyChange = (bytes, members) => {
  let before: unknown;
  const answered = edited('"role"', (message) => {
    const { role } = message;
    const isUnanswered = before === 'tool' && role !== 'tool' && role !== 'assistant';
    before = role;
    return isUnanswered ? [DONE, message] : message;
  });
  return answered(bytes, members);
};

/** Nine letters and digits for each id, the same in a call and in its result. */
export const withShortCallIds = edited('tool_call', (message) => {
  const calls = listOf(message['tool_calls']);
  const shorter = editedEach(calls, (call) => withShortId(call, 'id'));
  const short = withShortId(message, 'tool_call_id');
  return shorter === calls ? short : { ...short, tool_calls: shorter };
});

function withShortId(holder: Json, name: string): Json {
  const id = holder[name];
  if (typeof id !== 'string' || /^[A-Za-z0-9]{9}$/.test(id)) return holder;
  return { ...holder, [name]: hashedId(id, 9) };
}

/** Google's word for a call that another model made. */
const NOT_CHECKED = { google: { thought_signature: 'skip_thought_signature_validator' } };

/** Each call has a signature, if only Google's word for one that is not checked. */
export const withSignedCalls = edited('tool_calls', (message) => {
  const calls = listOf(message['tool_calls']);
  const signed = editedEach(calls, (call) =>
    memberOf(call, 'extra_content', 'google', 'thought_signature') === undefined
      ? { ...call, extra_content: NOT_CHECKED }
      : call,
  );
  return signed === calls ? message : { ...message, tool_calls: signed };
});

const SYSTEM: readonly unknown[] = ['system', 'developer'];
/** As they stand in a body. */
const WORDS = SYSTEM.map((role) => JSON.stringify(role));

/**
 * The body, of any protocol, with what the system says in the middle of a conversation as the user's words; null if it
 * says nothing there. Codex and Claude Code tell the model so of changes.
 */
export function withNotesAsUser(bytes: Buffer, members: readonly Member[]): Buffer | null {
  const list = members.find(({ key }) => key === 'messages' || key === 'input');
  if (list === undefined) return null;
  const [first] = elementsOf(bytes, list);
  const opening = first === undefined ? '' : bytes.toString('utf8', first.start, first.end);
  const hasOpened = members.some(({ key }) => key === 'system' || key === 'instructions');
  let mayOpen = !hasOpened && WORDS.some((word) => opening.includes(word));
  const noted = editedList(bytes, list, WORDS, (each) => {
    const isOpening = mayOpen;
    mayOpen = false;
    const isNote = isObject(each) && SYSTEM.includes(each['role']) && !isOpening;
    return isNote ? { ...each, role: 'user' } : each;
  });
  return noted === null ? null : withMembers(bytes, members, { [list.key]: noted });
}

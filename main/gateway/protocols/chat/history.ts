import { createHash } from 'node:crypto';
import { isObject } from '#shared/objects.ts';
import { listOf, memberOf } from '../../../platform/json.ts';
import { editedList, type Member, withMembers } from '../json-members.ts';

/**
 * Changes of the history in a chat completion, as hosts ask for them. Each takes a body and gives it changed, or null if
 * there is nothing to change.
 */
type Change = (bytes: Buffer, members: readonly Member[]) => Buffer | null;

type Json = Readonly<Record<string, unknown>>;

/** `edit` gets the messages with one of the words in them; see `editedList`. */
function edited(
  bytes: Buffer,
  members: readonly Member[],
  words: readonly string[],
  edit: (message: Json) => Json | readonly Json[],
): Buffer | null {
  const list = members.find(({ key }) => key === 'messages');
  if (list === undefined) return null;
  const messages = editedList(bytes, list, words, (each) => (isObject(each) ? edit(each) : each));
  return messages === null ? null : withMembers(bytes, members, { messages });
}

const REASONING = ['reasoning_content', 'reasoning', 'reasoning_details'] as const;

/** Thoughts beside the content, and those that Mistral tells within it. */
export const withoutReasoning: Change = (bytes, members) =>
  edited(bytes, members, ['"reasoning', '"thinking"'], (message) => {
    const { content } = message;
    const parts = listOf(content);
    const kept = parts.filter((part) => memberOf(part, 'type') !== 'thinking');
    const isTold = kept.length < parts.length;
    if (!isTold && !REASONING.some((name) => name in message)) return message;
    const {
      reasoning_content: _content,
      reasoning: _text,
      reasoning_details: _details,
      ...left
    } = message;
    return isTold ? { ...left, content: kept.length === 0 ? '' : kept } : left;
  });

/** Each turn of the model has a thought, if only a dot. */
export const withFilledReasoning: Change = (bytes, members) =>
  edited(bytes, members, ['assistant'], (message) => {
    const { role, reasoning_content: known, reasoning } = message;
    if (role !== 'assistant' || (typeof known === 'string' && known !== '')) return message;
    const text = typeof reasoning === 'string' && reasoning !== '' ? reasoning : '.';
    return { ...message, reasoning_content: text };
  });

/** Fields of a turn that every host takes; thoughts are a matter of their own. */
const PLAIN: ReadonlySet<string> = new Set(['role', 'content', 'name', 'prefix', ...REASONING]);

/** Turns of the model without what only the host that answered takes back, and without a list of no calls. */
export const withPlainTurns: Change = (bytes, members) =>
  edited(bytes, members, ['assistant'], (message) => {
    const { role, content, refusal, tool_calls: given } = message;
    if (role !== 'assistant') return message;
    const calls = listOf(given);
    const plain = calls.map((call) => (isObject(call) ? plainCall(call) : call));
    const kept = Object.entries(message).filter(([name]) => PLAIN.has(name));
    const hasCalls = calls.length > 0;
    const isPlain =
      kept.length + (hasCalls ? 1 : 0) === Object.keys(message).length &&
      plain.every((call, at) => call === calls[at]);
    if (isPlain) return message;
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
export const withoutEmptyTurns: Change = (bytes, members) =>
  edited(bytes, members, ['assistant'], (message) => {
    const { role, content, tool_calls: calls, function_call: call } = message;
    const isEmpty = isNothing(content) && listOf(calls).length === 0 && !isObject(call);
    return role === 'assistant' && isEmpty ? [] : message;
  });

/** In place of what the model would have said to a result before anybody else spoke. */
const DONE = { role: 'assistant', content: 'Done.' };

/** With a turn of the model behind results that somebody else's message follows. */
export const withAnswersToResults: Change = (bytes, members) => {
  let before: unknown;
  return edited(bytes, members, ['"role"'], (message) => {
    const { role } = message;
    const isUnanswered = before === 'tool' && role !== 'tool' && role !== 'assistant';
    before = role;
    return isUnanswered ? [DONE, message] : message;
  });
};

/** Nine letters and digits for each id, the same in a call and in its result. */
export const withShortCallIds: Change = (bytes, members) =>
  edited(bytes, members, ['tool_call'], (message) => {
    const { tool_calls: calls, tool_call_id: answered } = message;
    const list = listOf(calls);
    const shorter = list.map((call) => (isObject(call) ? withShortId(call) : call));
    const id = shortId(answered);
    if (id === answered && shorter.every((call, at) => call === list[at])) return message;
    return {
      ...message,
      ...(calls === undefined ? {} : { tool_calls: shorter }),
      ...(answered === undefined ? {} : { tool_call_id: id }),
    };
  });

function withShortId(call: Json): Json {
  const id = shortId(call['id']);
  return id === call['id'] ? call : { ...call, id };
}

function shortId(id: unknown): unknown {
  if (typeof id !== 'string' || /^[A-Za-z0-9]{9}$/.test(id)) return id;
  return createHash('sha256').update(id).digest('hex').slice(0, 9);
}

/** Google's word for a call that another model made. */
const NOT_CHECKED = { google: { thought_signature: 'skip_thought_signature_validator' } };

/** Each call has a signature, if only Google's word for one that is not checked. */
export const withSignedCalls: Change = (bytes, members) =>
  edited(bytes, members, ['tool_calls'], (message) => {
    const calls = listOf(message['tool_calls']);
    const signed = calls.map((call) =>
      isObject(call) && memberOf(call, 'extra_content', 'google', 'thought_signature') === undefined
        ? { ...call, extra_content: NOT_CHECKED }
        : call,
    );
    return signed.every((call, at) => call === calls[at])
      ? message
      : { ...message, tool_calls: signed };
  });

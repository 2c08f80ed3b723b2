import { createHash } from 'node:crypto';
import { isObject, listOf, memberOf, parseExactJson, textOf } from '../../platform/json.ts';
import { type BodyChange, type JsonBody, memberAt, smallValueOf } from './json-edit.ts';
import { type Edit, editedList, editedObjects, editedWithin } from './list-edit.ts';

/* Changes of the turns of a conversation, in whichever protocol, as hosts and engines ask for them. */

type Json = Readonly<Record<string, unknown>>;
type Turns = Iterable<Json>;

/** What a conversation is called; its turns are the input of a response. */
export const TURNS = ['messages', 'input'];

/**
 * Turns as the strictest hosts take them. The system is called so; what it says in the middle of a conversation, as Codex
 * and Claude Code tell the model of changes, are the user's words. Silent turns go, but for a user's at the end.
 */
function* strict(turns: Turns, body: JsonBody): Turns {
  const hasOpened = body.members.some(({ key }) => key === 'system' || key === 'instructions');
  let systemRole = hasOpened ? 'user' : 'system';
  let silent: Json | null = null;
  for (const turn of turns) {
    const { role } = turn;
    const isSystem = role === 'developer' || role === 'system';
    const named = isSystem && role !== systemRole ? { ...turn, role: systemRole } : turn;
    const isSpeaker = role === 'assistant' || role === 'user';
    const left = isSpeaker ? withoutParts(turn, isBlank) : [named];
    yield* left;
    [systemRole, silent] = ['user', left.length === 0 ? turn : null];
  }
  if (silent?.['role'] === 'user') yield silent;
}

const isBlank = ({ text }: Json): boolean => typeof text === 'string' && text.trim() === '';

/** The turn without some parts of its content; no turn if it neither says nor calls anything then. */
export function withoutParts(turn: Json, isGone: (part: Json) => boolean): readonly Json[] {
  const left = editedWithin(turn, 'content', (part) => (isGone(part) ? [] : part));
  const { tool_calls: calls, ...others } = left;
  const said = others['content'] ?? '';
  const isSilent = Array.isArray(said) ? said.length === 0 : said === '';
  const hasCalls = listOf(calls).length > 0;
  if (isSilent && !hasCalls && !isObject(turn['function_call'])) return [];
  if (left === turn && (hasCalls || !Array.isArray(calls))) return [turn];
  const content = isSilent ? null : said;
  return [hasCalls ? { ...left, content } : { ...others, content }];
}

export const withStrictTurns = editedList(TURNS, ['"'], strict);

/** In place of what the model would have said to a result before anybody else spoke. */
const DONE = { role: 'assistant', content: 'Done.' };

/** Strict turns in which user and model take turns; the model answers a result before the user speaks. */
function* alternating(turns: Turns, body: JsonBody): Turns {
  let before: Json | null = null;
  for (const turn of joined(strict(turns, body), isOneSpeaker, body)) {
    if (before?.['role'] === 'tool' && turn['role'] === 'user') yield DONE;
    yield turn;
    before = turn;
  }
}

/** Turns that call a tool, or tell what it said, stay apart. */
const isOneSpeaker = (one: Json, other: Json): boolean =>
  one['role'] === other['role'] &&
  (one['role'] === 'user' || one['role'] === 'assistant') &&
  !('tool_calls' in one || 'tool_calls' in other);

export const withAlternatingTurns = editedList(TURNS, ['"'], alternating);

/** Turns that follow each other and belong together are one. */
function* joined(turns: Turns, belong: (one: Json, other: Json) => boolean, body: JsonBody): Turns {
  const held: Json[] = [];
  for (const turn of turns) {
    const before = held.at(-1);
    if (before !== undefined && !belong(before, turn)) yield asOne(held.splice(0), body);
    held.push(turn);
  }
  if (held.length > 0) yield asOne(held, body);
}

/** All at once: one after another, what thousands of turns say would be copied thousands of times. */
function asOne(turns: readonly Json[], body: JsonBody): Json {
  const one = turns.reduce((all, turn) => ({ ...all, ...turn }));
  if (turns.length === 1) return one;
  const contents = turns.map(({ content }) => content);
  const isText = contents.every((said) => typeof said === 'string');
  if (isText) return { ...one, content: contents.join('\n\n') };
  const ofItem = one['role'] === 'user' ? 'input_text' : 'output_text';
  const type = memberAt(body, 'messages') === undefined ? ofItem : 'text';
  const parts = (said: unknown) =>
    typeof said === 'string' ? [{ type, text: said }] : listOf(said);
  return { ...one, content: contents.flatMap(parts) };
}

/* A call of a tool, or its result, is a part of the content or the calls of a turn, or a turn of its own. */

const isToolResult = (part: unknown): boolean => memberOf(part, 'type') === 'tool_result';

const isBlock = (part: Json): boolean => part['type'] === 'tool_use' || isToolResult(part);

const isResult = (part: Json): boolean =>
  part['role'] === 'tool' || isToolResult(part) || String(part['type']).endsWith('_output');

/** What a host did itself has no such id; a search for tools is between Codex and OpenAI. */
const isOwnTurn = ({ role, type, call_id: id }: Json): boolean =>
  role === 'tool' || (typeof id === 'string' && /(?<!search)_call(_output)?$/.test(String(type)));

/** Where the id of a call stands, in it or in its result. An engine may give it none. */
const idName = (part: Json): string =>
  ['tool_call_id', 'tool_use_id'].find((name) => name in part) ??
  (isOwnTurn(part) ? 'call_id' : 'id');

const idOf = (part: Json): unknown => part[idName(part)] ?? null;

/** Of which all hosts take ids of calls. */
const PLAIN_ID = /^[A-Za-z0-9]{9}$/;

/** The id of a call as all hosts take it, and of its result, where `count` calls have had the same one. */
function withPlainId(part: Json, count: number): Json {
  const id = idOf(part);
  if (typeof id !== 'string' || (count <= 1 && PLAIN_ID.test(id))) return part;
  const hash = createHash('sha256').update(`${id} ${count}`).digest('hex');
  return { ...part, [idName(part)]: hash.slice(0, 9) };
}

/** Calls whose arguments are no object have none; their results tell the model what became of them. */
function withWholeArguments(call: Json): Json {
  const { function: own, arguments: json, type, input } = call;
  if (isObject(own)) {
    const whole = withWholeArguments(own);
    return whole === own ? call : { ...call, function: whole };
  }
  if (typeof json === 'string')
    return isObject(parseExactJson(json)) ? call : { ...call, arguments: '{}' };
  if (type !== 'tool_use' || isObject(input)) return call;
  const parsed = typeof input === 'string' ? parseExactJson(input) : null;
  return { ...call, input: isObject(parsed) ? parsed : {} };
}

const NO_RESULT = 'No result: the call was interrupted.';

/** The turn that stands for the result of a call where it is missing. */
function resultFor(call: Json): Json {
  const [id, content] = [idOf(call), NO_RESULT];
  if (isBlock(call))
    return { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content }] };
  if (!isOwnTurn(call)) return { role: 'tool', tool_call_id: id, content };
  // Codex's shell is a function (openai/codex, context_manager/normalize.rs).
  const type = String(call['type']).replace('local_shell', 'function');
  return { type: `${type}_output`, call_id: id, output: content };
}

const isOfResults = ({ content }: Json): boolean =>
  listOf(content).length > 0 && listOf(content).every(isToolResult);

/** What a result without a call says, as the user's words. */
function wordsOf(result: Json): Json | readonly unknown[] {
  const content = result['content'] ?? result['output'] ?? NO_RESULT;
  if (!isBlock(result)) return { role: 'user', content };
  return Array.isArray(content) ? content : { type: 'text', text: content };
}

function withCalls(turn: Json, edit: Edit<unknown>): Json {
  if (isOwnTurn(turn)) return [edit(turn)].flat().find(isObject) ?? turn;
  const called = editedWithin(turn, 'tool_calls', edit);
  const told = editedWithin(called, 'content', (part) => (isBlock(part) ? edit(part) : part));
  // Anthropic wants results before the user's words (platform.claude.com/docs, Tool use).
  const content = listOf(told['content']);
  const sorted = [...new Set([...content.filter(isToolResult), ...content])];
  return sorted.every((part, at) => part === content[at]) ? told : { ...told, content: sorted };
}

/**
 * Each call with its result behind it, and each result behind its call, or else as the user's words: where a tool was
 * interrupted or a history was cut, one of them is missing, and a host refuses every later turn. A result answers the last
 * call before it that has its id.
 */
function* paired(turns: Turns): Turns {
  /** How many calls have had each id. */
  const counts = new Map<unknown, number>();
  /** What stands for the results that have not come so far, by the ids of their calls. */
  const open = new Map<unknown, Json>();
  for (const sent of turns) {
    const calls: Json[] = [];
    const edit = (part: Json) => {
      const id = idOf(part);
      const count = (counts.get(id) ?? 0) + (isResult(part) ? 0 : 1);
      counts.set(id, count);
      const sound = withWholeArguments(withPlainId(part, count));
      if (!isResult(sound)) calls.push(sound);
      else if (!open.delete(idOf(sound))) return wordsOf(sound);
      return sound;
    };
    const turn = withCalls(sent, edit);
    // Calls, thoughts and what a host did itself stand between calls and their results; so do other results.
    if ('role' in turn && turn['role'] !== 'tool' && !isOfResults(turn)) {
      yield* open.values();
      open.clear();
    }
    yield turn;
    for (const call of calls) open.set(idOf(call), resultFor(call));
  }
  yield* open.values();
}

/** Anthropic combines turns of the user; other hosts look for all results in the turn behind the calls (openclaw/clawhub#151). */
const isOneAnswer = (one: Json, other: Json): boolean =>
  isOfResults(one) && one['role'] === other['role'];

/** Items of a conversation that an upstream keeps: the request does not have all of its calls. */
const KEPT_ELSEWHERE = ['previous_response_id', 'conversation'];

/** Calls and results as the strictest hosts take them, whatever one of them refuses first. */
export const withSoundCalls: BodyChange = (body) => {
  const isPart = KEPT_ELSEWHERE.some((name) => (smallValueOf(body, name) ?? null) !== null);
  return isPart || body.bytes.includes('"item_reference"')
    ? null
    : editedList(TURNS, ['"'], (turns) => joined(paired(turns), isOneAnswer, body))(body);
};

/** Each turn of the model has a thought, if only a dot. */
export const withFilledReasoning = editedObjects(TURNS, ['"assistant"'], (turn) => {
  const { role, reasoning_content: known, reasoning } = turn;
  const isFilled = role !== 'assistant' || textOf(known) !== null;
  return isFilled ? turn : { ...turn, reasoning_content: textOf(reasoning) ?? '.' };
});

/** Google's word for a call that another model made. */
const NOT_CHECKED = { google: { thought_signature: 'skip_thought_signature_validator' } };

/** Each call has a signature, if only Google's word for one that is not checked. */
export const withSignedCalls = editedObjects(TURNS, ['"tool_calls"'], (turn) =>
  editedWithin(turn, 'tool_calls', (call) =>
    memberOf(call, 'extra_content', 'google', 'thought_signature') === undefined
      ? { ...call, extra_content: NOT_CHECKED }
      : call,
  ),
);

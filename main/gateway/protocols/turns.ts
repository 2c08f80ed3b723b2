import { createHash } from 'node:crypto';
import { isObject, isTooDeep, listOf, memberOf, parseExactJson } from '../../platform/json.ts';
import {
  type BodyChange,
  JsonScan,
  memberAt,
  smallValueOf,
  type Span,
  withMembers,
} from './json-edit.ts';

/* Changes of lists in a body: of the turns of a conversation, in whichever protocol, as hosts and engines ask for them. */

type Json = Readonly<Record<string, unknown>>;
type Edit = Parameters<typeof editedObjects>[2];

const OPEN_BRACE = 0x7b;

export function elementsOf(bytes: Buffer, { start, end }: Span): readonly Span[] {
  const scan = new JsonScan();
  scan.push(bytes.subarray(start, end));
  return scan.members.map((each) => ({ start: start + each.start, end: start + each.end }));
}

/**
 * The object that the body has as `key`, or the objects in the list there, changed by `edit`, each parsed: it returns the
 * same value to keep its bytes, another to replace it, or a list of those to stand in its place, of which an empty one drops
 * it. Only objects with one of the `words` in them are parsed, and only those that are not too heavy.
 */
export function editedObjects(
  key: string,
  words: readonly string[],
  edit: (element: Json, at: number, isLast: boolean) => Json | readonly Json[],
): BodyChange {
  return (body) => {
    const member = memberAt(body, key);
    if (member === undefined) return null;
    const isList = member.last !== null;
    const elements = isList ? elementsOf(body.bytes, member) : [member];
    let isChanged = false;
    const parts = elements.flatMap(({ start, end }, at) => {
      const own = body.bytes.subarray(start, end);
      const isMeant = own[0] === OPEN_BRACE && words.some((word) => own.includes(word));
      const before = isMeant ? parseExactJson(own.toString('utf8')) : undefined;
      if (!isObject(before) || isTooDeep(before)) return own;
      const after = edit(before, at, at === elements.length - 1);
      if (after === before) return own;
      isChanged = true;
      return [after].flat().map((each) => Buffer.from(JSON.stringify(each)));
    });
    if (!isChanged) return null;
    const list = parts.flatMap((part, at) => (at === 0 ? part : [Buffer.from(','), part]));
    const left = isList
      ? Buffer.concat([Buffer.from('['), ...list, Buffer.from(']')])
      : (parts[0] ?? null);
    return withMembers(body, { [key]: left });
  };
}

/** `edit` on each object in the list that an object has as `name`; the object itself if nothing changes. */
export function editedWithin(holder: Json, name: string, edit: (element: Json) => Json): Json {
  const before = listOf(holder[name]);
  const after = before.map((each) => (isObject(each) ? edit(each) : each));
  return after.every((each, at) => each === before[at]) ? holder : { ...holder, [name]: after };
}

/** Edits the turns of a conversation that have one of the words in them. */
const edited =
  (words: readonly string[], edit: Edit): BodyChange =>
  (body) =>
    editedObjects(memberAt(body, 'messages') ? 'messages' : 'input', words, edit)(body);

const SYSTEM: readonly unknown[] = ['system', 'developer'];
const WORDS = ['"system"', '"developer"', '"assistant"', '""'];

/**
 * Turns as the strictest hosts take them. The system is called so; what it says in the middle of a conversation, as Codex
 * and Claude Code tell the model of changes, are the user's words. Nobody says nothing.
 */
export const withStrictTurns: BodyChange = (body) => {
  const hasOpened = body.members.some(({ key }) => key === 'system' || key === 'instructions');
  return edited(WORDS, (turn, at, isLast) => {
    const { role } = turn;
    if (SYSTEM.includes(role)) {
      const plain = at === 0 && !hasOpened ? 'system' : 'user';
      return role === plain ? turn : { ...turn, role: plain };
    }
    if (role !== 'assistant' && role !== 'user') return turn;
    const told = withoutNothing(turn);
    return role === 'user' && isLast && Array.isArray(told) ? turn : told;
  })(body);
};

/** An empty list if the turn neither says nor calls anything. */
function withoutNothing(turn: Json): Json | readonly Json[] {
  const { content, tool_calls: calls, ...others } = turn;
  const parts = listOf(content);
  const told = parts.filter((part) => !isBlank(part));
  const isSilent = Array.isArray(content) ? told.length === 0 : (content ?? '') === '';
  const hasCalls = listOf(calls).length > 0;
  if (isSilent && !hasCalls && !isObject(others['function_call'])) return [];
  if (told.length === parts.length && (hasCalls || !Array.isArray(calls))) return turn;
  return {
    ...others,
    content: parts.length === told.length ? content : told,
    ...(hasCalls && { tool_calls: calls }),
  };
}

const isBlank = (part: unknown): boolean => {
  const text = memberOf(part, 'text');
  return typeof text === 'string' && text.trim() === '';
};

/** In place of what the model would have said to a result before anybody else spoke. */
const DONE = { role: 'assistant', content: 'Done.' };

/**
 * Strict turns in which user and model take turns: those of one speaker that follow each other are one, and the model
 * answers a result before anybody else speaks.
 */
export const withAlternatingTurns: BodyChange = (body) => {
  const strict = withStrictTurns(body);
  let held: Json | null = null;
  let isChanged = false;
  const isResponses = memberAt(body, 'messages') === undefined;
  let turns = 0;
  let areAllRead = false;
  // Items of a response that have no role stand between the turns, too.
  const alternating = edited(['"'], (turn, at, isLast) => {
    areAllRead = isLast && at === turns;
    turns += 1;
    const { role } = turn;
    const before: Json | null = held;
    const both: Json | null = before === null ? null : asOne(before, turn, isResponses);
    const isUnanswered = before?.['role'] === 'tool' && role !== 'tool' && role !== 'assistant';
    isChanged ||= both !== null || isUnanswered;
    held = both ?? turn;
    const done = before === null || both !== null ? [] : [before, ...(isUnanswered ? [DONE] : [])];
    return isLast ? [...done, held] : done;
  })(strict ?? body);
  // A turn that is too heavy to be parsed would come before the one that is held.
  return isChanged && areAllRead ? alternating : strict;
};

/** Null for turns of different speakers, and for those that call a tool or tell what it said. */
function asOne(one: Json, other: Json, isResponses: boolean): Json | null {
  const { role, content } = other;
  const isCall = [one, other].some((turn) => 'tool_calls' in turn);
  if (role !== one['role'] || (role !== 'user' && role !== 'assistant') || isCall) return null;
  const [before, behind] = [one['content'], content];
  if (typeof before === 'string' && typeof behind === 'string')
    return { ...one, ...other, content: `${before}\n\n${behind}` };
  const ofItem = role === 'user' ? 'input_text' : 'output_text';
  const type = isResponses ? ofItem : 'text';
  const parts = (text: unknown) => (typeof text === 'string' ? [{ type, text }] : listOf(text));
  return { ...one, ...other, content: [...parts(before), ...parts(behind)] };
}

/** Of which all hosts take ids of calls. */
const PLAIN_ID = /^[A-Za-z0-9]{9}$/;

const plainId = (id: string): string => createHash('sha256').update(id).digest('hex').slice(0, 9);

/** Ids of calls as all hosts take them, one for each call: a result answers the last call before it that has its id. */
const withPlainCallIds: BodyChange = (body) => {
  /** How many calls have had each id. */
  const used = new Map<string, number>();
  function plain(holder: Json, name: string): Json {
    const id = holder[name];
    if (typeof id !== 'string') return holder;
    const isCall = name === 'id' || isItem(holder, '_call');
    const count = (used.get(id) ?? 0) + (isCall ? 1 : 0);
    used.set(id, count);
    if (count <= 1 && PLAIN_ID.test(id)) return holder;
    return { ...holder, [name]: plainId(count <= 1 ? id : `${id} ${count}`) };
  }
  const inBlock = (block: Json) => {
    if (block['type'] === 'tool_use') return plain(block, 'id');
    return block['type'] === 'tool_result' ? plain(block, 'tool_use_id') : block;
  };
  return edited(['"tool_', '"call_id"'], (turn) => {
    const called = editedWithin(turn, 'tool_calls', (call) => plain(call, 'id'));
    return plain(plain(editedWithin(called, 'content', inBlock), 'tool_call_id'), 'call_id');
  })(body);
};

function withWhole(call: Json): Json {
  const { function: own, arguments: json, type, input } = call;
  const inner = isObject(own) ? withWhole(own) : own;
  if (inner !== own) return { ...call, function: inner };
  const read = parseExactJson(String(json ?? input));
  if (typeof json === 'string') return isObject(read) ? call : { ...call, arguments: '{}' };
  if (type !== 'tool_use' || isObject(input)) return call;
  return { ...call, input: isObject(read) ? read : {} };
}

/** Calls whose arguments are no object have none; their results tell the model what became of them. */
const withWholeArguments = edited(['"arguments"', '"tool_use"'], (turn) =>
  withWhole(editedWithin(editedWithin(turn, 'tool_calls', withWhole), 'content', withWhole)),
);

const NO_RESULT = 'No result: the call was interrupted.';

const isResult = (part: unknown): part is Json => memberOf(part, 'type') === 'tool_result';
/** A host's own search for tools has no id, and its result is the host's, too. */
const isItem = ({ type, call_id: id }: Json, kind: '_call' | '_output') =>
  String(type).endsWith(kind) && typeof id === 'string';
/** Of the call that a result is of; an engine may give it none. */
const callIdOf = ({ tool_call_id, tool_use_id, call_id }: Json): unknown =>
  tool_call_id ?? tool_use_id ?? call_id ?? null;

/** What stands for the results of a turn's calls where they are missing. */
function resultsFor(turn: Json): readonly Json[] {
  if (isItem(turn, '_call')) return [outputFor(turn)];
  const uses = listOf(turn['content']).filter((part) => memberOf(part, 'type') === 'tool_use');
  const idsOf = (calls: readonly unknown[]) => calls.map((call) => memberOf(call, 'id'));
  const content = NO_RESULT;
  return [
    ...idsOf(listOf(turn['tool_calls'])).map((id) => ({ role: 'tool', tool_call_id: id, content })),
    ...idsOf(uses).map((id) => ({ type: 'tool_result', tool_use_id: id, content })),
  ];
}

/** As Codex itself writes them (openai/codex, context_manager/normalize.rs). */
function outputFor({ type, call_id }: Json): Json {
  if (type === 'tool_search_call')
    return {
      type: 'tool_search_output',
      call_id,
      status: 'completed',
      execution: 'client',
      tools: [],
    };
  const called = type === 'local_shell_call' ? 'function_call' : String(type);
  return { type: `${called}_output`, call_id, output: NO_RESULT };
}

const inTurns = (results: readonly Json[]): readonly Json[] =>
  results.some(isResult) ? [{ role: 'user', content: results }] : results;

/** What a result without a call says, as the user's words. */
function wordsOf(part: unknown): readonly unknown[] {
  const content = isResult(part) ? memberOf(part, 'content') : [part];
  return Array.isArray(content) ? content : [{ type: 'text', text: content ?? NO_RESULT }];
}

/**
 * Each call with its result right behind it, and each result behind its call, or else as the user's words: where a tool was
 * interrupted or a history was cut, one of them is missing, and a host refuses every later turn.
 */
const withPairedCalls: BodyChange = (body) => {
  /** Results that are missing so far, by the ids of their calls. */
  const open = new Map<unknown, Json>();
  const isAnswer = (result: Json) => open.delete(callIdOf(result));
  const missing = () => [...open].flatMap(([id, result]) => (open.delete(id) ? [result] : []));
  function inPairs(turn: Json): Json | readonly Json[] {
    const { type, role, content, output } = turn;
    if (role === 'tool' || isItem(turn, '_output')) {
      if (isAnswer(turn)) return turn;
      // The tools that a search found are no words.
      if (type === 'tool_search_output') return inTurns(missing());
      return [...inTurns(missing()), { role: 'user', content: content ?? output ?? NO_RESULT }];
    }
    // Calls, thoughts and what a host did itself stand between calls and their results.
    if (role === undefined) return turn;
    const parts = listOf(content);
    if (!parts.some(isResult)) return open.size === 0 ? turn : [...inTurns(missing()), turn];
    const { own = [], others = [] } = Object.groupBy(parts, (part) =>
      isResult(part) && isAnswer(part) ? 'own' : 'others',
    );
    if (open.size === 0 && !others.some(isResult)) return turn;
    return { ...turn, content: [...own, ...missing(), ...others.flatMap(wordsOf)] };
  }
  return edited(['"'], (turn, _at, isLast) => {
    const told = inPairs(turn);
    for (const result of resultsFor(turn)) open.set(callIdOf(result), result);
    return isLast && open.size > 0 ? [told, inTurns(missing())].flat() : told;
  })(body);
};

/** Items of a conversation that an upstream keeps: the request does not have all of its calls. */
const KEPT_ELSEWHERE = ['previous_response_id', 'conversation'];

/** Calls and results as the strictest hosts take them, whatever one of them refuses first. */
export const withSoundCalls: BodyChange = (body) => {
  const isPart = KEPT_ELSEWHERE.some((name) => (smallValueOf(body, name) ?? null) !== null);
  if (isPart || body.bytes.includes('"item_reference"')) return null;
  const changes = [withPlainCallIds, withPairedCalls, withWholeArguments];
  const sound = changes.reduce((changed, change) => change(changed) ?? changed, body);
  return sound === body ? null : sound;
};

/** Each turn of the model has a thought, if only a dot. */
export const withFilledReasoning = edited(['"assistant"'], (turn) => {
  const { role, reasoning_content: known, reasoning } = turn;
  if (role !== 'assistant' || (typeof known === 'string' && known !== '')) return turn;
  const text = typeof reasoning === 'string' && reasoning !== '' ? reasoning : '.';
  return { ...turn, reasoning_content: text };
});

/** Google's word for a call that another model made. */
const NOT_CHECKED = { google: { thought_signature: 'skip_thought_signature_validator' } };

/** Each call has a signature, if only Google's word for one that is not checked. */
export const withSignedCalls = edited(['"tool_calls"'], (turn) =>
  editedWithin(turn, 'tool_calls', (call) =>
    memberOf(call, 'extra_content', 'google', 'thought_signature') === undefined
      ? { ...call, extra_content: NOT_CHECKED }
      : call,
  ),
);

/** Responses without reasoning and without ids of items, which mean something to their host alone. */
export const withoutForeignItems = edited(['"id"', '"reasoning"'], (item) => {
  const { id, ...left } = item;
  if (item['type'] === 'reasoning') return [];
  return id === undefined || item['type'] === 'item_reference' ? item : left;
});

/**
 * Of tools that take anything, or nothing, all hosts want to hear that it is an object, and of which properties. Where it
 * is one of several objects, it may have the properties of each.
 */
export const withObjectSchemas = editedObjects('tools', ['"'], (tool) => {
  const own = isObject(tool['function']) ? tool['function'] : tool;
  const name = 'input_schema' in own ? 'input_schema' : 'parameters';
  const schema = own[name];
  const { anyOf, oneOf, allOf, ...known } = isObject(schema) ? schema : {};
  const choices = [anyOf, oneOf, allOf].flatMap(listOf);
  if (schema === undefined || (isWhole(schema) && choices.length === 0)) return tool;
  const named = [...choices, known].map((each) => memberOf(each, 'properties')).filter(isObject);
  const properties: unknown = Object.assign({}, ...named);
  const whole = { ...own, [name]: { ...known, properties, type: 'object' } };
  return own === tool ? whole : { ...tool, function: whole };
});

const isWhole = (schema: unknown): boolean =>
  isObject(schema) && schema['type'] === 'object' && isObject(schema['properties']);

import { asList, asText, type Json } from '../chaos/events.ts';

/** What a model says in one turn, whichever host it speaks through. */
export interface Saying {
  /** Empty: it does not think. */
  readonly thought: string;
  readonly text: string;
  /** What its calls of `lookup` are about. */
  readonly asks: readonly string[];
  /** Hosts that may withhold a thought do. */
  readonly isHidden: boolean;
}

/** It thought until the limit cut it off. */
export const isThoughtOnly = ({ text, asks }: Saying): boolean => text === '' && asks.length === 0;

/** The one tool that all callers offer. */
export const TOOL = 'lookup';

export const inputOf = (about: string) => ({ about });

/** A request that a host does not take, and the rule that it breaks. */
export interface Refusal {
  readonly rule: string;
  readonly status: number;
  readonly body: object;
}

/** One of the protocols that a host speaks, for one conversation: it remembers what it signed and stored. */
export interface Dialect {
  /** The end of the path. */
  readonly path: string;
  refusal(body: Json): Refusal | null;
  answer(saying: Saying, body: Json): Answered;
}

export interface Answered {
  readonly whole: object;
  /** The same as server-sent events. */
  readonly events: readonly object[];
  /** What came of the saying: not every host tells its thoughts. */
  readonly said: Saying;
  /** What only this host can read, and wants to see again. */
  readonly seals: readonly string[];
}

/** All texts in a value, however deep. */
export function stringsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(stringsIn);
}

/** A tool's result as a host gets it: what its call was about, and its texts. */
export interface Paired {
  readonly about: unknown;
  readonly result: readonly string[];
}

/** The results in a body of any protocol, each with the call that it answers. */
export function pairsIn(body: Json): readonly Paired[] {
  const calls = new Map<unknown, unknown>();
  const pairs: Paired[] = [];
  const parts = [...asList(body['messages']), ...asList(body['input'])].flatMap((each) => [
    each,
    ...asList(each['content']),
    ...asList(each['tool_calls']),
  ]);
  for (const { type, id, call_id, input, arguments: json, function: called, ...part } of parts) {
    if (type === 'tool_use') calls.set(id, aboutIn(input));
    if (type === 'function_call') calls.set(call_id, aboutIn(json));
    if (type === 'function') calls.set(id, aboutIn((called as Json)['arguments']));
    const answered = part['tool_call_id'] ?? part['tool_use_id'];
    const output = type === 'function_call_output' ? part['output'] : part['content'];
    const key = type === 'function_call_output' ? call_id : answered;
    if (key !== undefined) pairs.push({ about: calls.get(key), result: stringsIn(output) });
  }
  return pairs;
}

/** What a call is about, from its input or the JSON of it. */
export function aboutIn(input: unknown): unknown {
  const value: unknown = typeof input === 'string' ? JSON.parse(input) : input;
  return (value as Json)['about'];
}

/** Which member of a list is of no allowed type. */
export const strangerIn = (parts: unknown, types: readonly string[]): string | null =>
  asList(parts)
    .map(({ type }) => asText(type))
    .find((type) => !types.includes(type)) ?? null;

/** Which field is none of these. */
export const extraIn = (object: Json, fields: readonly string[]): string | null =>
  Object.keys(object).find((key) => !fields.includes(key)) ?? null;

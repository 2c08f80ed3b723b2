import { isObject, isTooDeep, listOf, memberOf, parseExactJson } from '../../../platform/json.ts';
import { type JsonBody, memberAt } from '../json-edit.ts';
import type { Json } from '../translation/field-reader.ts';

/** A call that a model wrote into its text. */
export interface LeakedCall {
  readonly name: string;
  readonly arguments: Json;
}

/** How a family of models writes a call, which its engine should have read. */
interface Dialect {
  /** Up to the arguments, with the name if it stands in front of them. */
  readonly open: RegExp;
  /** `named`: an object, or a list of them, with name and arguments. A pattern finds keys and texts between tags, or they are JSON. */
  readonly args: 'json' | 'named' | RegExp;
  /** Behind the arguments; some engines take the end of the last call for that of the answer. */
  readonly close?: RegExp;
  /** The call counts only if it is the whole answer, because it begins as any JSON does. */
  readonly isAlone?: true;
}

/** What calls begin with in a text. */
export const MARKERS = [
  '<tool_call>',
  '<function=',
  '[TOOL_CALLS]',
  '<|python_tag|>',
  '<｜tool▁call',
  '<｜DSML｜',
];

/** One row for each dialect. All patterns are sticky, and go over a character once. */
const DIALECTS: readonly Dialect[] = [
  {
    // Hermes and Qwen: huggingface.co/NousResearch/Hermes-3-Llama-3.1-8B, Prompt Format for Function Calling;
    // the chat template of huggingface.co/Qwen/Qwen3-8B.
    open: /<tool_call>\s*/y,
    args: 'named',
    close: /<\/tool_call>|$/y,
  },
  {
    // Qwen3-Coder: the chat template of huggingface.co/Qwen/Qwen3-Coder-30B-A3B-Instruct; without the first tag
    // (ollama/ollama#16686) and without ends (continuedev/continue#13057). With JSON: Llama 3.1's user-defined tools.
    open: /(?:<tool_call>\s*)?<function=(?<name>[^>\s]+)>\s*/y,
    args: /<parameter=([^>\s]+)>\s?([^]*?)\n?(?:<\/parameter>|(?=<parameter=|<\/function>)|$)\s*/y,
    close: /(?:<\/function>|$)\s*(?:<\/tool_call>)?/y,
  },
  {
    // GLM: the chat template of huggingface.co/zai-org/GLM-4.5; ikawrakow/ik_llama.cpp, discussion 753.
    open: /<tool_call>\s*(?<name>[^\s<{]+)\s*/y,
    args: /<arg_key>([^<]*)<\/arg_key>\s*<arg_value>([^]*?)<\/arg_value>\s*/y,
    close: /<\/tool_call>|$/y,
  },
  {
    // Mistral up to the tenth version of its tokenizer: huggingface.co/mistralai/Mistral-7B-Instruct-v0.3, chat template.
    open: /\[TOOL_CALLS\]\s*/y,
    args: 'named',
  },
  {
    // Mistral from then on: the chat template of huggingface.co/mistralai/Mistral-Small-3.2-24B-Instruct-2506.
    open: /\[TOOL_CALLS\]\s*(?<name>[^\s[{]+)(?:\[CALL_ID\]\w*)?(?:\[ARGS\])?\s*/y,
    args: 'json',
  },
  {
    // Llama 3: llama.com/docs, Llama 3.1 prompt format, JSON based tool calling.
    open: /(?:<\|python_tag\|>|;)\s*/y,
    args: 'named',
  },
  {
    // Llama's and Mistral's from engines that leave special tokens out of the text (jundot/omlx#2565).
    open: /;?\s*/y,
    args: 'named',
    isAlone: true,
  },
  {
    // DeepSeek: the chat templates of huggingface.co/deepseek-ai/DeepSeek-R1-0528, with a fence, and DeepSeek-V3.1.
    open: /(?:<｜tool▁calls▁begin｜>\s*)?<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?(?<name>[^\s<]+)(?:<｜tool▁sep｜>|\s*```json)\s*/y,
    args: 'json',
    close: /(?:```\s*)?(?:<｜tool▁call▁end｜>|$)\s*(?:<｜tool▁calls▁end｜>)?/y,
  },
  {
    // DeepSeek from V3.2 (ochafik/minja#11), V4 (TokenRhythm/opensquilla#985); without the outer tags and without ends
    // (sgl-project/sglang#40236).
    open: /(?:<｜DSML｜(?:function|tool)_calls>\s*)?<｜DSML｜invoke name="(?<name>[^">]+)">\s*/y,
    args: /<｜DSML｜parameter name="([^">]+)"(?: string="\w+")?>([^]*?)(?:<\/｜DSML｜parameter>|(?=<｜DSML｜parameter|<\/｜DSML｜invoke>)|$)\s*/y,
    close: /(?:<\/｜DSML｜invoke>|$)\s*(?:<\/｜DSML｜(?:function|tool)_calls>)?/y,
  },
];

/** Between the parts of calls, and where an engine ends its text. */
const BLANK = /(?:\s|<\|(?:im_end|eot_id|eom_id|observation)\|>|<\/s>|<｜end▁of▁sentence｜>)*/y;
const EMPTY = /(?:)/y;
/** How an object of a call begins. */
const NAMED = /\[?\s*\{\s*"(?:name"\s*:\s*"(?<name>[^"]*)"|type"|id"|arguments"|parameters")/y;

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

const behindBlank = (text: string, at: number): number =>
  at + (matchAt(BLANK, text, at)?.[0].length ?? 0);

const dialectsFor = (isAlone: boolean) => DIALECTS.filter((each) => isAlone || !each.isAlone);

/** Whether the beginning of a text is that of a call. */
export const beginsCall = (text: string, offered: OfferedTools, isAlone: boolean): boolean =>
  dialectsFor(isAlone).some(({ open, args }) => {
    const opened = matchAt(open, text, 0);
    const named = opened && (args === 'named' ? matchAt(NAMED, text, open.lastIndex) : opened);
    const name = named?.groups?.['name'];
    return name === undefined ? named !== null && args === 'named' : offered.has(name);
  });

/** The calls that a text is, from its first character to its end; null if it is anything else. */
export function readCalls(text: string, offered: OfferedTools, isAlone: boolean) {
  for (const dialect of dialectsFor(isAlone)) {
    const calls: LeakedCall[] = [];
    let at: number | null = 0;
    while (at !== null && at < text.length) at = readCall(dialect, { text, at }, offered, calls);
    if (at !== null) return calls;
  }
  return null;
}

/** Adds the call, or the list of them, at a place; where the next begins, or null if there is none. */
function readCall(
  { open, args, close = EMPTY }: Dialect,
  { text, at }: { readonly text: string; readonly at: number },
  offered: OfferedTools,
  calls: LeakedCall[],
): number | null {
  const opened = matchAt(open, text, at);
  const start = open.lastIndex;
  const name = opened?.groups?.['name'] ?? '';
  const isTagged = args instanceof RegExp && text[start] !== '{';
  const { value, end } = isTagged
    ? textsAt(text, start, args, offered.get(name))
    : jsonAt(text, start);
  const meant = args === 'named' ? namedCalls(value) : [{ name, given: value }];
  for (const each of meant) {
    const schema = offered.get(each.name);
    const fit = schema === undefined ? null : argumentsFor(schema, each.given);
    if (fit === null) return null;
    calls.push({ name: each.name, arguments: fit });
  }
  const closed = matchAt(close, text, behindBlank(text, end));
  // A text that ends behind a name says nothing of arguments.
  const isOpen = closed === null || (isTagged && end === start && closed[0] === '');
  return opened === null || isOpen ? null : behindBlank(text, close.lastIndex);
}

const IN_CALL: ReadonlySet<string> = new Set(['name', 'arguments', 'parameters', 'id', 'type']);

/** Whatever is no call has an empty name. */
function namedCalls(value: unknown) {
  return (Array.isArray(value) ? listOf(value) : [value]).map((call) => {
    const { name, arguments: args, parameters }: Json = isObject(call) ? call : {};
    const isCall = isObject(call) && Object.keys(call).every((key) => IN_CALL.has(key));
    return { name: isCall ? String(name) : '', given: args ?? parameters };
  });
}

function textsAt(text: string, start: number, pattern: RegExp, schema: unknown) {
  const members: [string, unknown][] = [];
  let end = start;
  for (let found; (found = matchAt(pattern, text, end)) !== null; end = pattern.lastIndex) {
    const [, key = '', given = ''] = found;
    members.push([key, valueFor(schema, key, given)]);
  }
  return { value: Object.fromEntries(members), end };
}

/** An object or a list; undefined for anything else, or without its end. */
function jsonAt(text: string, start: number) {
  let depth = 0;
  let isText = false;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (isText && character === '\\') at += 1;
    else if (character === '"') isText = !isText;
    else if (!isText && (character === '{' || character === '[')) depth += 1;
    else if (!isText && (character === '}' || character === ']')) depth -= 1;
    if (depth <= 0) return { value: parseExactJson(text.slice(start, at + 1)), end: at + 1 };
  }
  return { value: undefined, end: text.length };
}

/** The schemas of the arguments, by the names of the functions that a request offers. */
export type OfferedTools = ReadonlyMap<unknown, unknown>;

export function offeredIn(body: JsonBody): OfferedTools {
  const tools = memberAt(body, 'tools');
  const given = tools && parseExactJson(body.bytes.toString('utf8', tools.start, tools.end));
  const functions = listOf(given).map((tool) => memberOf(tool, 'function'));
  return new Map(
    functions.map((each) => [memberOf(each, 'name'), memberOf(each, 'parameters') ?? {}]),
  );
}

/** Empty if any type will do. */
function typesOf(schema: unknown): readonly unknown[] {
  const { type, anyOf, oneOf }: Json = isObject(schema) ? schema : {};
  if (type !== undefined) return [type].flat();
  const choices = listOf(anyOf ?? oneOf).map(typesOf);
  return choices.some(({ length }) => length === 0) ? [] : choices.flat();
}

function typesOfValue(value: unknown): readonly string[] {
  if (value === null) return ['null'];
  if (Array.isArray(value)) return ['array'];
  // An integer that is too long for a number.
  const isLong = isObject(value) && 'rawJSON' in value;
  return isLong || Number.isInteger(value) ? ['integer', 'number'] : [typeof value];
}

/**
 * Whether required members are there and types and choices right, as far as `type`, `enum`, `required`, `properties`,
 * `items` and `additionalProperties` tell; whatever other words say is taken for true.
 */
function accepts(schema: unknown, value: unknown): boolean {
  if (!isObject(schema)) return true;
  const types = typesOf(schema);
  if (types.length > 0 && !typesOfValue(value).some((type) => types.includes(type))) return false;
  const { enum: choices, items, properties, required, additionalProperties: others } = schema;
  if (Array.isArray(choices) && !choices.includes(value)) return false;
  if (Array.isArray(value)) return value.every((each) => accepts(items, each));
  if (!isObject(value)) return true;
  const isFit = ([key, each]: readonly [string, unknown]) => {
    const own = memberOf(properties, key) ?? others;
    return own !== false && accepts(own, each);
  };
  const isWhole = listOf(required).every((key) => Object.hasOwn(value, String(key)));
  return isWhole && Object.entries(value).every(isFit);
}

/** Arguments that a tool takes; null for any other. */
function argumentsFor(schema: unknown, given: unknown): Json | null {
  // Some models write the JSON into a JSON text.
  const args = typeof given === 'string' ? parseExactJson(given) : given;
  return isObject(args) && !isTooDeep(args) && accepts(schema, args) ? args : null;
}

const PYTHONS: Readonly<Record<string, unknown>> = { True: true, False: false, None: null };

/** An argument that is written between tags: a text as it stands, anything else as JSON or in Python's words. */
function valueFor(schema: unknown, key: string, text: string): unknown {
  const types = typesOf(memberOf(schema, 'properties', key));
  const word = text.trim();
  const value = Object.hasOwn(PYTHONS, word) ? PYTHONS[word] : parseExactJson(word);
  const isText = types.includes('string') && !(value === null && types.includes('null'));
  return isText || value === undefined ? text : value;
}

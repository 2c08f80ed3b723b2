import { isObject, isTooDeep, listOf, memberOf, parseExactJson } from '../../../platform/json.ts';
import type { ChatRequest } from '../chat-request.ts';
import type { Json } from '../translation/findings.ts';

/** The schemas of the arguments, by the names of the functions that a request offers. */
export type OfferedTools = ReadonlyMap<unknown, unknown>;

export function offeredIn({
  bytes,
  members,
}: Pick<ChatRequest, 'bytes' | 'members'>): OfferedTools {
  const tools = members.find(({ key }) => key === 'tools');
  const given = tools && parseExactJson(bytes.toString('utf8', tools.start, tools.end));
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
export function argumentsFor(schema: unknown, given: unknown): Json | null {
  // Some models write the JSON into a JSON text.
  const args = typeof given === 'string' ? parseExactJson(given) : given;
  return isObject(args) && !isTooDeep(args) && accepts(schema, args) ? args : null;
}

const PYTHONS: Readonly<Record<string, unknown>> = { True: true, False: false, None: null };

/** An argument that is written between tags: a text as it stands, anything else as JSON or in Python's words. */
export function valueFor(schema: unknown, key: string, text: string): unknown {
  const types = typesOf(memberOf(schema, 'properties', key));
  const word = text.trim();
  const value = Object.hasOwn(PYTHONS, word) ? PYTHONS[word] : parseExactJson(word);
  const isText = types.includes('string') && !(value === null && types.includes('null'));
  return isText || value === undefined ? text : value;
}

import { createHash } from 'node:crypto';
import { isObject, listOf } from '../../../platform/json.ts';
import type { ChatBody } from './conversation.ts';

/** Of a function, at OpenAI and Azure; an MCP tool may have dots, slashes and letters of any script, or a longer name. */
const NAME = /^[\w-]{1,64}$/;

/** The names that callers know, by those that upstreams are told. */
export type LongNames = ReadonlyMap<string, string>;

/** 64 characters at most, and the same for the same name, whether it is offered or was called before. */
function shortName(name: string): string {
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8);
  return `${name.replaceAll(/[^\w-]/g, '_').slice(0, 55)}_${hash}`;
}

/** A tool, a choice or a call with another name; the same object if it keeps its own. */
function renamed(holder: unknown, nameOf: (name: string) => string | undefined): unknown {
  const inner = isObject(holder) ? holder['function'] : undefined;
  const name = isObject(inner) ? inner['name'] : undefined;
  const other = typeof name === 'string' ? nameOf(name) : undefined;
  if (!isObject(holder) || !isObject(inner) || other === undefined) return holder;
  return { ...holder, function: { ...inner, name: other } };
}

/** A request whose names upstreams take. */
export function withShortNames(body: ChatBody): {
  readonly body: ChatBody;
  readonly longNames: LongNames;
} {
  const longNames = new Map<string, string>();
  const short = (holder: unknown) =>
    renamed(holder, (name) => {
      if (NAME.test(name)) return undefined;
      longNames.set(shortName(name), name);
      return shortName(name);
    });
  const { tools, tool_choice: choice } = body;
  const shorter = {
    ...body,
    messages: body.messages.map((message) =>
      'tool_calls' in message && message.tool_calls !== undefined
        ? { ...message, tool_calls: message.tool_calls.map((call) => short(call) as object) }
        : message,
    ),
    ...(tools !== undefined && { tools: listOf(tools).map(short) }),
    ...(choice !== undefined && { tool_choice: short(choice) }),
  };
  return { body: longNames.size === 0 ? body : shorter, longNames };
}

/** A chunk, or a whole answer, whose calls have the names that its caller knows. */
export function withLongNames(answer: unknown, longNames: LongNames): unknown {
  if (longNames.size === 0 || !isObject(answer)) return answer;
  const inLong = (said: unknown): unknown => {
    if (!isObject(said) || !Array.isArray(said['tool_calls'])) return said;
    const calls = said['tool_calls'].map((call) => renamed(call, (name) => longNames.get(name)));
    return { ...said, tool_calls: calls };
  };
  const choices = listOf(answer['choices']).map((choice) => {
    if (!isObject(choice)) return choice;
    const { delta, message } = choice;
    return { ...choice, delta: inLong(delta), message: inLong(message) };
  });
  return { ...answer, choices };
}

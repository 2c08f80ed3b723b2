import { parseJson, isObject } from '../../../main/platform/json.ts';

/** A server-sent event, as a client's parser gives it. */
export interface SentEvent {
  /** Empty without one. */
  readonly name: string;
  readonly data: string;
}

/** The events of a stream, and what stands behind the last whole one (WHATWG HTML, 9.2.6). */
export function eventsIn(text: string): {
  readonly events: readonly SentEvent[];
  readonly rest: string;
} {
  const lines = text.split(/\r\n|\n|\r/);
  const last = lines.pop() ?? '';
  const events: SentEvent[] = [];
  let open: string[] = [];
  for (const line of lines) {
    if (line !== '') {
      open.push(line);
      continue;
    }
    const event = eventOf(open);
    if (event !== null) events.push(event);
    open = [];
  }
  return { events, rest: open.join('\n') + last };
}

/** Null without data, such as for a comment. */
function eventOf(lines: readonly string[]): SentEvent | null {
  const values = (field: string) =>
    lines
      .filter((line) => line === field || line.startsWith(`${field}:`))
      .map((line) => line.slice(field.length + 1).replace(/^ /, ''));
  const data = values('data');
  return data.length === 0 ? null : { name: values('event').at(-1) ?? '', data: data.join('\n') };
}

export type Json = Readonly<Record<string, unknown>>;

/** A JSON object, or null. */
export function objectIn(text: string): Json | null {
  const value = parseJson(text);
  return isObject(value) ? value : null;
}

/** What is no object is an empty one. */
export const asObject = (value: unknown): Json => (isObject(value) ? value : {});

export const asList = (value: unknown): readonly Json[] =>
  Array.isArray(value) ? value.map(asObject) : [];

/** What is no text is an empty one. */
export const asText = (value: unknown): string => (typeof value === 'string' ? value : '');

import { onTestFinished } from 'vitest';

/** What was given to `JSON.parse` and `JSON.stringify`, at the most in one call. */
export interface ParsingSeen {
  /** Brackets, commas and colons of the text that had most of them. */
  marks: number;
  chars: number;
}

/** Watches all parsing and writing of JSON until the test is over. */
export function watchParsing(): ParsingSeen {
  const { parse, stringify } = JSON;
  const seen: ParsingSeen = { marks: 0, chars: 0 };
  const note = (text: unknown) => {
    if (typeof text !== 'string') return;
    seen.chars = Math.max(seen.chars, text.length);
    // A shorter one cannot have more.
    if (text.length > seen.marks)
      seen.marks = Math.max(seen.marks, text.match(/[[{,:]/g)?.length ?? 0);
  };
  JSON.parse = (text: string, ...more: never[]): unknown => {
    note(text);
    return parse(text, ...more);
  };
  JSON.stringify = (value: unknown, ...more: never[]): string => {
    const text = stringify(value, ...more);
    note(text);
    return text;
  };
  onTestFinished(() => void Object.assign(JSON, { parse, stringify }));
  return seen;
}

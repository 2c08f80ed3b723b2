import { type Draws, drawsFor } from './draws.ts';

/** The one right answer of a request, which every upstream knows. */
export interface Answer {
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly AnswerCall[];
  readonly finish: Finish;
  readonly usage: { readonly input: number; readonly output: number };
}

export interface AnswerCall {
  readonly id: string;
  readonly name: string;
  /** JSON. */
  readonly arguments: string;
}

export type Finish = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/** A number of a seed. */
export interface RequestKey {
  readonly seed: number;
  readonly n: number;
}

export const TOOLS: readonly string[] = ['weather', 'send_mail', 'look_up', 'book'];

type Part = 'reasoning' | 'text' | 'calls';

/** What answers consist of; those of text alone can be resumed, and are the most. */
const CONTENTS: readonly (readonly Part[])[] = [
  ['text'],
  ['text'],
  ['text'],
  ['text'],
  ['reasoning', 'text'],
  ['reasoning', 'text'],
  ['calls'],
  ['reasoning', 'calls'],
  ['text', 'calls'],
  ['reasoning', 'text', 'calls'],
];

/** Characters of one to four bytes, and what ends events and answers where it is no text. */
const TAILS: readonly string[] = [
  '',
  '',
  '',
  '',
  'é',
  '€',
  '漢字',
  '😀',
  '👩‍🚀',
  '"',
  '\\',
  '</b>',
  '[DONE]',
  'data:',
  'event:error',
  '"finish_reason":"stop"',
  '{"error":{"message":"no"}}',
];
const BLANKS: readonly string[] = [' ', ' ', ' ', ' ', '  ', '\n', '\n\n', '\t'];
const LONG_WORDS = 3000;
const ENDS_OF_TEXT = ['stop', 'stop', 'stop', 'stop', 'length'] as const;

export function answerOf({ seed, n }: RequestKey): Answer {
  const draws = drawsFor(seed, n, 'answer');
  const parts = draws.pick(CONTENTS);
  const hasCalls = parts.includes('calls');
  return {
    reasoning: parts.includes('reasoning') ? words(draws, `r${n}`, 1 + draws.below(30)) : '',
    text: parts.includes('text') ? textOf(draws, n) : '',
    calls: Array.from({ length: hasCalls ? 1 + draws.below(3) : 0 }, (_, at) => ({
      id: `call_${seed}_${n}_${at}`,
      name: draws.pick(TOOLS),
      arguments: argumentsOf(draws, `a${n}x${at}`),
    })),
    finish: hasCalls ? 'tool_calls' : draws.pick(ENDS_OF_TEXT),
    usage: { input: 10 + draws.below(1000), output: 1 + draws.below(1000) },
  };
}

/** Some models begin with blank lines. */
function textOf(draws: Draws, n: number): string {
  const count = draws.happens(0.02) ? LONG_WORDS : 1 + draws.below(60);
  return `${draws.happens(0.1) ? '\n\n' : ''}${words(draws, `t${n}`, count)}`;
}

/** No word comes twice, in this answer or in another. */
function words(draws: Draws, of: string, count: number): string {
  let text = '';
  for (let at = 0; at < count; at += 1)
    text += `${at === 0 ? '' : draws.pick(BLANKS)}${of}.${at}${draws.pick(TAILS)}`;
  return text;
}

function argumentsOf(draws: Draws, of: string): string {
  if (draws.happens(0.1)) return '{}';
  const value = {
    city: words(draws, `${of}c`, 1 + draws.below(4)),
    days: draws.below(1000),
    [`${of}é`]: [true, null, { deep: words(draws, `${of}d`, 1 + draws.below(20)) }],
  };
  return JSON.stringify(value, null, draws.happens(0.3) ? 1 : 0);
}

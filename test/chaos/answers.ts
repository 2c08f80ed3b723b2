import type { Reply } from '../support/chat-answers.ts';
import { type Draws, drawsFor } from '../support/draws.ts';

/** The one right answer to a request, which every upstream knows. */
export type Answer = Omit<Reply, 'usage'> & {
  readonly usage: Omit<Reply['usage'], 'cached'>;
};

/** A request is named by the seed of the run and its number there. */
export interface RequestKey {
  readonly seed: number;
  readonly n: number;
}

const TOOLS = ['weather', 'send_mail', 'look_up', 'book'];

/** What answers consist of. Answers of text alone can be resumed, so they are the most frequent. */
const CONTENTS = ['text', 'text', 'text', 'reasoning text', 'calls', 'reasoning text calls'];
/** Characters of one to four bytes, and text that would end events and answers if it were not text. */
const TAILS = ['', '', 'é', '漢字', '👩‍🚀', '"', '\\', '[DONE]', 'data:', '"finish_reason":"stop"'];
const BLANKS = [' ', ' ', ' ', '  ', '\n', '\n\n', '\t'];
const LONG_WORDS = 3000;

export function answerOf({ seed, n }: RequestKey): Answer {
  const draws = drawsFor(seed, n, 'answer');
  const parts = draws.pick(CONTENTS);
  const hasCalls = parts.includes('calls');
  const count = draws.happens(0.02) ? LONG_WORDS : 1 + draws.below(60);
  return {
    reasoning: parts.includes('reasoning') ? words(draws, `r${n}`, 1 + draws.below(30)) : '',
    text: parts.includes('text') ? words(draws, `t${n}`, count) : '',
    calls: Array.from({ length: hasCalls ? 1 + draws.below(3) : 0 }, (_, at) => ({
      id: `call_${seed}_${n}_${at}`,
      name: draws.pick(TOOLS),
      arguments: argumentsOf(draws, `a${n}x${at}`),
    })),
    finish: hasCalls ? 'tool_calls' : draws.pick(['stop', 'stop', 'stop', 'length'] as const),
    usage: { input: 10 + draws.below(1000), output: 1 + draws.below(1000) },
  };
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
  const value = { city: words(draws, of, 1 + draws.below(20)), [`${of}é`]: [true, null, { n: 1 }] };
  return JSON.stringify(value, null, draws.happens(0.3) ? 1 : 0);
}

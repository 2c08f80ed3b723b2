import * as fc from 'fast-check';
import type { UpstreamId } from '#shared/ids.ts';
import { words } from '../support/chat-answers.ts';
import type { Protocol } from './callers.ts';
import { CALL_IDS, type CallIds, createEngine, createMistral } from './engines.ts';
import type { Dialect, Saying } from './saying.ts';

/** The upstreams in the order in which they are asked. */
export const PLACES = ['local', 'hosted_a', 'hosted_b', 'hosted_c'] as const satisfies UpstreamId[];
export type Place = (typeof PLACES)[number];

/** Hosts without any protocol but chat completions. */
export const LAST = {
  mistral: createMistral,
  vllm: () => createEngine('vllm'),
} as const satisfies Record<string, () => Dialect>;

/** A conversation, and who is there to answer each of its turns. */
export interface Story {
  readonly protocol: Protocol;
  readonly callIds: CallIds;
  /** What `hosted_c` is. */
  readonly last: keyof typeof LAST;
  readonly assembles: boolean;
  readonly isStored: boolean;
  /** Where Anthropic wants the thought of a tool loop. */
  readonly loop: 'turn' | 'message';
  readonly turns: readonly Turn[];
}

export type Weather = 'up' | '503' | 'reset';

export interface Turn {
  /** Said with the results of calls if any wait and `isAlso`. */
  readonly text: string;
  readonly isAlso: boolean;
  /** The system says something before it. */
  readonly isNoted: boolean;
  readonly hasPicture: boolean;
  /** Whether the results have pictures, in turn. */
  readonly resultPictures: readonly boolean[];
  /** Results come in the order in which tools end. */
  readonly isReversed: boolean;
  readonly saying: Saying;
  readonly weather: Readonly<Record<Place, Weather>>;
  readonly stream: boolean;
  readonly thinking: 'off' | 'enabled' | 'adaptive';
}

const saying: fc.Arbitrary<Saying> = fc
  .record({
    thought: fc.oneof(fc.constant(''), { weight: 4, arbitrary: words }),
    text: fc.oneof(fc.constant(''), words),
    asks: fc.array(words, { maxLength: 3 }),
    isHidden: fc.nat(3).map((n) => n === 0),
  })
  .map((said) =>
    said.thought === '' && said.text === '' && said.asks.length === 0
      ? { ...said, text: 'Yes.' }
      : said,
  );

const THINKING = ['off', 'enabled', 'adaptive'] as const;

/** A turn before it is known who takes part in the conversation. */
const drawnTurn = fc.record({
  text: words,
  isAlso: fc.boolean(),
  isNoted: fc.nat(5).map((n) => n === 0),
  hasPicture: fc.boolean(),
  resultPictures: fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
  isReversed: fc.boolean(),
  saying,
  answering: fc.nat(11),
  others: fc.array(fc.constantFrom<Weather[]>('up', '503', 'reset'), {
    minLength: 4,
    maxLength: 4,
  }),
  stream: fc.boolean(),
  /** Most callers think as they began. */
  thinks: fc.nat(8),
});

/** All before the one that answers are down. */
function weatherOf(answering: Place, others: readonly Weather[]): Record<Place, Weather> {
  const at = PLACES.indexOf(answering);
  const each = PLACES.map((place, index): [Place, Weather] => {
    const drawn = others[index] ?? 'up';
    if (index === at) return [place, 'up'];
    return [place, index < at && drawn === 'up' ? '503' : drawn];
  });
  return Object.fromEntries(each) as Record<Place, Weather>;
}

export const stories: fc.Arbitrary<Story> = fc
  .record({
    protocol: fc.constantFrom<Protocol[]>('chat', 'messages', 'messages', 'responses', 'responses'),
    callIds: fc.constantFrom(...(Object.keys(CALL_IDS) as CallIds[])),
    last: fc.constantFrom(...(Object.keys(LAST) as (keyof typeof LAST)[])),
    assembles: fc.boolean(),
    isStored: fc.boolean(),
    loop: fc.constantFrom<Story['loop'][]>('turn', 'message'),
    // Few answer in turn, so that each meets its own words again.
    among: fc.subarray([...PLACES], { minLength: 2 }),
    thinks: fc.constantFrom(0, 1, 1, 2, 2),
    turns: fc.array(drawnTurn, { minLength: 4, maxLength: 10, size: 'max' }),
  })
  .map(({ among, thinks: usual, turns, ...story }) => ({
    ...story,
    turns: turns.map(({ answering, others, thinks, ...turn }) => ({
      ...turn,
      weather: weatherOf(among[answering % among.length] ?? 'local', others),
      thinking: THINKING[thinks < THINKING.length ? thinks : usual] ?? 'off',
    })),
  }));

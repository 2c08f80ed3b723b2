import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSplice, type SpliceMode } from '../../../../main/gateway/chat/resume/splice.ts';
import type { Echo } from '../../../../main/gateway/upstream/upstreams.ts';
import {
  anyText,
  cuts,
  framed,
  heard,
  piecesOf,
  spliced,
  streamOf,
  transcriptOf,
} from '../../../support/resume.ts';

const role = fc.constantFrom('alone' as const, 'with text' as const, 'none' as const);

/** A few words over and over, blanks of all kinds among them; in most the text up to a cut comes again after it. */
const repeating = fc
  .tuple(
    fc.array(fc.constantFrom('a', 'b', ' ', '\n', ' la', 'la ', 'It was a dark and stormy '), {
      minLength: 1,
      maxLength: 4,
    }),
    fc.integer({ min: 2, max: 12 }),
  )
  .map(([words, times]) => `x${words.join('').repeat(times)}`.slice(words[0] === 'a' ? 0 : 1));

/** A first stream broken off after some of its text, and how the second is cut. */
const broken = fc.record({
  text: fc.oneof(anyText(1), repeating),
  firstCuts: cuts,
  firstRole: role,
  /** Which event with text was the last, as a share. */
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  secondCuts: cuts,
  secondRole: role,
  frameCuts: cuts,
});

type Broken = typeof broken extends fc.Arbitrary<infer T> ? T : never;

/** The events that were sent, and their text. */
function sentOf({ text, firstCuts, firstRole, at }: Broken) {
  const pieces = piecesOf(text, firstCuts).filter((piece) => piece !== '');
  const kept = pieces.slice(0, 1 + Math.floor(at * (pieces.length - 1)));
  return { events: streamOf('1', kept, firstRole).slice(0, -2), text: kept.join('') };
}

/** What the caller hears where `answer` is the second stream's text. */
async function carriedOn(
  broke: Broken,
  plan: SpliceMode,
  answer: string,
  echo: readonly string[] = [],
) {
  const sent = sentOf(broke);
  const pieces = [...echo, ...piecesOf(answer, broke.secondCuts)];
  const second = streamOf('2', pieces, broke.secondRole);
  const splice = createSplice(await transcriptOf(...sent.events), plan);
  const { bytes, diverged } = spliced(splice, framed(second, broke.frameCuts));
  return { bytes, diverged, all: heard(sent.events.join('') + bytes) };
}

/** One stream with `text`: one of all that there must be one of. */
function oneStream(broke: Broken, text: string) {
  return {
    content: text,
    reasoning: '',
    roles: broke.firstRole === 'none' && broke.secondRole === 'none' ? 0 : 1,
    finishes: ['stop'],
    dones: 1,
    ids: new Set(['1']),
    models: new Set(['model-1']),
    indexes: new Set([0]),
    usages: [],
  };
}

const RUNS = { numRuns: 200 };

test('an answer given again reaches the caller whole in one stream, wherever anything is cut', async () => {
  await fc.assert(
    fc.asyncProperty(broken, async (broke) => {
      const plan: SpliceMode = { kind: 'repeated' };
      const { all } = await carriedOn(broke, plan, broke.text);
      expect(all).toEqual(oneStream(broke, broke.text));
    }),
    RUNS,
  );
});

/** How an upstream is asked to go on from `sent`, which says no blanks at its end. */
function goingOn(sent: string, echo: Echo) {
  const trimmed = sent.trimEnd();
  const partial = trimmed === '' ? sent : trimmed;
  const blanks = sent.slice(partial.length);
  const part = 'text';
  return { kind: 'continued', part, partial, blanks, echo, heldTokens: 0 } as const;
}

test('a continuation that surely echoes, or surely does not, gives the caller exactly the whole text', async () => {
  await fc.assert(
    fc.asyncProperty(broken, fc.constantFrom<Echo>('never', 'always'), async (broke, echo) => {
      const plan = goingOn(sentOf(broke).text, echo);
      const rest = broke.text.slice(plan.partial.length);
      const { all } = await carriedOn(broke, plan, rest, echo === 'always' ? [plan.partial] : []);
      expect(all).toEqual(oneStream(broke, broke.text));
    }),
    { numRuns: 400 },
  );
});

test('a continuation by any other upstream gives the caller the whole text, or its beginning and no end', async () => {
  const begins = fc.constantFrom('with what is new', 'with an echo', 'again');
  const seen = { whole: 0, broken: 0 };
  await fc.assert(
    fc.asyncProperty(broken, begins, async (broke, how) => {
      const sent = sentOf(broke).text;
      const plan = goingOn(sent, 'maybe');
      const { partial } = plan;
      const rest = broke.text.slice(partial.length);
      // A repetitive text that begins again cannot be told from one that is continued.
      fc.pre(how !== 'again' || !broke.text.slice(partial.length).trimStart().startsWith(partial));
      fc.pre(how !== 'again' || !/^(.+)\1+/su.test(partial));
      // By chance in one piece, it would be an echo.
      fc.pre(how !== 'with what is new' || piecesOf(rest, broke.secondCuts)[0] !== partial);
      const { diverged, all } = await carriedOn(
        broke,
        plan,
        how === 'again' ? broke.text : rest,
        how === 'with an echo' ? [partial] : [],
      );
      const isWhole = diverged === null;
      seen[isWhole ? 'whole' : 'broken'] += 1;
      const whole = oneStream(broke, broke.text);
      const { content, finishes, dones } = all;
      const beginning = { content: broke.text.slice(0, content.length), finishes: [], dones: 0 };
      expect(isWhole ? all : { content, finishes, dones }).toEqual(isWhole ? whole : beginning);
    }),
    { numRuns: 400 },
  );
  expect(Math.min(seen.whole, seen.broken)).toBeGreaterThan(20);
});

test('a repetition with another text diverges, and nothing of it is sent', async () => {
  await fc.assert(
    fc.asyncProperty(
      broken,
      fc.nat(),
      fc.constantFrom('', '\u0000', '😁', 'Z'),
      async (broke, at, other) => {
        const sent = sentOf(broke).text;
        const place = at % sent.length;
        const answer = sent.slice(0, place) + other + broke.text.slice(place + 1);
        fc.pre(!answer.startsWith(sent));
        const { bytes, diverged } = await carriedOn(broke, { kind: 'repeated' }, answer);
        expect(diverged).not.toBeNull();
        expect(heard(bytes)).toMatchObject({ content: '', finishes: [], dones: 0 });
      },
    ),
    RUNS,
  );
});

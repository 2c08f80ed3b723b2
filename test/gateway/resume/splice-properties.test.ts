import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSplice, type SplicePlan } from '../../../main/gateway/chat/resume/splice.ts';
import {
  anyText,
  cuts,
  framed,
  heard,
  piecesOf,
  spliced,
  streamOf,
  transcriptOf,
} from '../../support/resume.ts';

const role = fc.constantFrom('alone' as const, 'with text' as const, 'none' as const);

/** A first stream broken off after some of its text, and how the second is cut. */
const broken = fc.record({
  text: anyText(1),
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
function carriedOn(broke: Broken, plan: SplicePlan, answer: string) {
  const sent = sentOf(broke);
  const second = streamOf('2', piecesOf(answer, broke.secondCuts), broke.secondRole);
  const splice = createSplice(transcriptOf(...sent.events), plan);
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

const RUNS = { numRuns: 500 };

test('given anew, the caller gets exactly the whole text in one stream, wherever anything is cut', () => {
  fc.assert(
    fc.property(broken, (broke) => {
      const plan: SplicePlan = { way: { kind: 'anew' }, includeUsage: true };
      const { all } = carriedOn(broke, plan, broke.text);
      expect(all).toEqual(oneStream(broke, broke.text));
    }),
    RUNS,
  );
});

test('continued, the caller gets exactly the whole text in one stream, echoed or not', () => {
  fc.assert(
    fc.property(broken, fc.boolean(), fc.boolean(), (broke, isLookedFor, isEchoed) => {
      const sent = sentOf(broke).text;
      const rest = broke.text.slice(sent.length);
      // Only a text that is said again after itself cannot be told from an echo.
      fc.pre(!isLookedFor || isEchoed || !rest.startsWith(sent));
      const echoes = isLookedFor && isEchoed && sent.length >= 16;
      const plan: SplicePlan = {
        way: { kind: 'continued', echo: isLookedFor ? sent : null },
        includeUsage: true,
      };
      const { all } = carriedOn(broke, plan, echoes ? sent + rest : rest);
      expect(all).toEqual(oneStream(broke, broke.text));
    }),
    RUNS,
  );
});

test('given anew, another text diverges and nothing of it goes on', () => {
  fc.assert(
    fc.property(broken, fc.nat(), fc.constantFrom('', '\u0000', '😁', 'Z'), (broke, at, other) => {
      const sent = sentOf(broke).text;
      const place = at % sent.length;
      const answer = sent.slice(0, place) + other + broke.text.slice(place + 1);
      fc.pre(!answer.startsWith(sent));
      const { bytes, diverged } = carriedOn(
        broke,
        { way: { kind: 'anew' }, includeUsage: false },
        answer,
      );
      expect(diverged).not.toBeNull();
      expect(heard(bytes)).toMatchObject({ content: '', finishes: [], dones: 0 });
    }),
    RUNS,
  );
});

test('where the first stream ended with a whole character, what goes on begins with one', () => {
  fc.assert(
    fc.property(broken, (broke) => {
      fc.pre(sentOf(broke).text.isWellFormed());
      const whole = { ...broke, secondCuts: [] };
      const { bytes } = carriedOn(
        whole,
        { way: { kind: 'anew' }, includeUsage: false },
        broke.text,
      );
      expect(heard(bytes).content.isWellFormed()).toBe(true);
    }),
    RUNS,
  );
});

import { expect, test } from 'vitest';
import { LeakGate } from '../../../../main/gateway/protocols/rescue/rescue.ts';
import { drawsFor } from '../../../support/draws.ts';
import { callFrom, OFFERED, piecesOf, proseFrom, WRITERS } from './leaks.ts';

/** What a gate makes of a text that comes in pieces. */
function gated(pieces: readonly string[]) {
  const gate = new LeakGate(() => OFFERED);
  let text = '';
  for (const piece of pieces) text += gate.push(piece);
  const end = gate.end('');
  return { text: text + end.text, calls: end.calls };
}

const PREAMBLES = ['', 'I look it up.\n\n', 'First:\n```sh\nls\n```\nThen ', '\n'];
const FORMS = 520;

test('at least 99 of 100 leaked calls of every dialect are read, with the text before them', () => {
  const missed: string[] = [];
  for (let n = 0; n < FORMS; n += 1) {
    const draws = drawsFor('leak', n);
    const { dialect, write, isAlone } = WRITERS[n % WRITERS.length] ?? draws.pick(WRITERS);
    const calls = Array.from({ length: 1 + draws.below(3) }, () => callFrom(draws));
    const before = isAlone ? '' : draws.pick(PREAMBLES);
    const found = gated(piecesOf(before + write(calls), draws));
    const wanted = { text: before, calls };
    if (JSON.stringify(found) !== JSON.stringify(wanted))
      missed.push(`${dialect}: ${write(calls)}`);
  }
  expect(missed.length > FORMS / 100 ? missed.slice(0, 5) : []).toEqual([]);
});

/** By hand with a million: LINES=1000000. */
const LINES = Number(process.env['LINES'] ?? 20_000);

test('no call is read from prose and code about tools, which loses no character', () => {
  for (let lines = 0, n = 0; lines < LINES; n += 1) {
    const draws = drawsFor('prose', n);
    const prose = proseFrom(draws);
    lines += prose.split('\n').length;
    expect(gated(piecesOf(prose, draws))).toEqual({ text: prose, calls: [] });
  }
});

test('text is passed on at once unless a call could begin in it', () => {
  const gate = new LeakGate(() => OFFERED);
  const pieces = [
    'I',
    ' saw {a}',
    ' [1] and',
    ' 2 > 1.',
    ' a <',
    'b> c\n',
    '```\n<tool_call>',
    '\n```\n',
  ];
  const passed = pieces.map((piece) => gate.push(piece));
  expect(passed).toEqual([...pieces.slice(0, 4), ' a ', '<b> c\n', ...pieces.slice(6)]);
});

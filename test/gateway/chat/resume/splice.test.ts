import { expect, test } from 'vitest';
import { createSplice, type SpliceMode } from '../../../../main/gateway/chat/resume/splice.ts';
import type { Echo } from '../../../../main/gateway/upstream/upstreams.ts';
import {
  chunkOf,
  framesIn,
  heard,
  type Heard,
  spliced,
  transcriptOf,
} from '../../../support/resume.ts';

const STOP = chunkOf('2', {}, 'stop');
const SENT = 'It was a dark and stormy night';
const FIRST = [chunkOf('1', { role: 'assistant' }), chunkOf('1', { content: SENT })];

type Continued = Extract<SpliceMode, { readonly kind: 'continued' }>;

const REPEATED: SpliceMode = { kind: 'repeated' };
const going = (echo: Echo, partial = SENT, blanks = ''): Continued => {
  return { kind: 'continued', part: 'text', partial, blanks, echo, heldTokens: 1 };
};
const CONTINUED = going('never');
const ECHO = going('maybe');

const text = (content: string) => chunkOf('2', { content });

/** What comes out for `events`, each pushed by itself. */
async function out(plan: SpliceMode, events: readonly string[], first: readonly string[] = FIRST) {
  const splice = createSplice(await transcriptOf(...first), plan);
  return spliced(
    splice,
    events.map((event) => framesIn(event)),
  );
}

async function heardOf(plan: SpliceMode, events: readonly string[], first = FIRST): Promise<Heard> {
  return heard(first.join('') + (await out(plan, events, first)).bytes);
}

test('a chunk of a continuation that only repeats the role, or has no content, is not passed on', async () => {
  const empty = [chunkOf('2', { role: 'assistant', content: '', refusal: null }), text('')];
  expect((await out(CONTINUED, empty)).bytes).toBe('');
});

test('reasoning of a continuation is dropped, and its tool call is not', async () => {
  const call = chunkOf('2', { tool_calls: [{ index: 0, id: 't' }] }, 'tool_calls');
  const { bytes } = await out(CONTINUED, [chunkOf('2', { reasoning_content: 'hm' }), call]);
  expect(heard(bytes)).toMatchObject({ reasoning: '', finishes: ['tool_calls'] });
  expect(bytes).toContain('"tool_calls":[{"index":0,"id":"t"}]');
});

test('a comment passes through a splice unchanged, also before the new answer has caught up', async () => {
  for (const plan of [REPEATED, CONTINUED, ECHO])
    expect(await out(plan, [': hi\n\n'])).toEqual({ bytes: ': hi\n\n', diverged: null });
});

test('an echo is dropped only if it is the very first text and comes in one piece', async () => {
  const echo = [chunkOf('2', { role: 'assistant', content: '' }), text(SENT), text(', and'), STOP];
  for (const plan of [ECHO, going('always')]) {
    expect((await heardOf(plan, echo)).content).toBe(`${SENT}, and`);
    const later = (await heardOf(plan, [text(' – '), text(SENT), STOP])).content;
    expect(later).toBe(`${SENT} – ${SENT}`);
  }
});

test('a text that has repeated itself may continue to do so at any upstream', async () => {
  const song = 'la la la la ';
  const first = [chunkOf('1', { content: song })];
  const plan = going('maybe', song.trimEnd(), ' ');
  expect((await heardOf(plan, [text(' '), text('la '), text('la la la')], first)).content).toBe(
    `${song}la la la la`,
  );
  const noSeam = going('maybe', ' la la la la');
  const again = [' la', ' la', ' la', ' la', ' la'].map((word) => text(word));
  expect((await heardOf(noSeam, again, [chunkOf('1', { content: ' la la la la' })])).content).toBe(
    ' la'.repeat(9),
  );
});

test('blanks that end the sent text are sent again by the continuation and dropped', async () => {
  const first = [chunkOf('1', { content: `${SENT}.\n\n` })];
  const plan = going('never', `${SENT}.`, '\n\n');
  for (const pieces of [['\n\nIt'], ['\n', '\n', 'It'], ['\n', '\nI', 't']]) {
    const events = pieces.map((piece) => text(piece));
    expect((await heardOf(plan, events, first)).content).toBe(`${SENT}.\n\nIt`);
  }
  // Fewer or none than there were: what was sent stays. More: they go on.
  expect((await heardOf(plan, [text('\nIt\n')], first)).content).toBe(`${SENT}.\n\nIt\n`);
  expect((await heardOf(plan, [text('It')], first)).content).toBe(`${SENT}.\n\nIt`);
  expect((await heardOf(plan, [text('\n\n\n')], first)).content).toBe(`${SENT}.\n\n\n`);
});

test.each<[how: string, events: readonly string[]]>([
  ['finishes early', [text('It was'), STOP]],
  ['calls a tool early', [text('It was'), chunkOf('2', { tool_calls: [{ index: 0 }] })]],
  ['refuses', [chunkOf('2', { refusal: 'no' })]],
  ['comes in parts', [chunkOf('2', { content: [{ type: 'text', text: SENT }] })]],
  ['reasons', [chunkOf('2', { reasoning_content: 'hm' })]],
])(
  'an answer given again that %s has diverged for good, and nothing of it is sent',
  async (_how, events) => {
    const splice = createSplice(await transcriptOf(...FIRST), REPEATED);
    const pieces = events.map((event) => framesIn(event));
    expect(spliced(splice, pieces)).toEqual({ bytes: '', diverged: expect.any(String) as string });
    expect(splice.push(framesIn(text(SENT), STOP)).kind).toBe('diverged');
  },
);

test('a continuation that takes the text for reasoning has diverged', async () => {
  const thoughts = chunkOf('2', { reasoning_content: '; the rain' });
  expect((await out(CONTINUED, [thoughts, STOP])).diverged).toMatch(/reasons instead/);
  // One that only thinks once more before it goes on is.
  const onceMore = (await heardOf(CONTINUED, [thoughts, text('; the rain'), STOP])).content;
  expect(onceMore).toBe(`${SENT}; the rain`);
});

const REASONED = [chunkOf('1', { reasoning_content: 'hm so' }), ...FIRST];

test('the usage of a continuation is added to the usage of the first stream', async () => {
  const usage = { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17, x: { y: 1 } };
  const last = chunkOf('2', {}, null, { choices: [], usage });
  const first = [...FIRST, chunkOf('1', { content: '!' })];
  expect((await heardOf({ ...CONTINUED, heldTokens: 2 }, [last], first)).usages).toEqual([
    { prompt_tokens: 10, completion_tokens: 7, total_tokens: 17, x: { y: 1 } },
  ]);
  expect((await heardOf(REPEATED, [last], first)).usages).toEqual([usage]);
});

test('reasoning that the continuation’s prompt did not hold counts as output and is not taken off the prompt', async () => {
  const usage = { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 };
  const last = [chunkOf('2', {}, 'stop', { usage })];
  // Two events, and four tokens that are no events.
  const unheld = (await heardOf(CONTINUED, last, REASONED)).usages;
  expect(unheld).toEqual([{ prompt_tokens: 11, completion_tokens: 11, total_tokens: 22 }]);
  const held = (await heardOf({ ...CONTINUED, heldTokens: 6 }, last, REASONED)).usages;
  expect(held).toEqual([{ prompt_tokens: 6, completion_tokens: 11, total_tokens: 17 }]);
});

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

const DONE = 'data: [DONE]\n\n';
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

const text = (content: string, extra: Record<string, unknown> = {}) =>
  chunkOf('2', { content }, null, extra);

/** What comes out for `events`, each pushed by itself. */
function out(plan: SpliceMode, events: readonly string[], first: readonly string[] = FIRST) {
  const splice = createSplice(transcriptOf(...first), plan);
  return spliced(
    splice,
    events.map((event) => framesIn(event)),
  );
}

function heardOf(plan: SpliceMode, events: readonly string[], first = FIRST): Heard {
  return heard(first.join('') + out(plan, events, first).bytes);
}

test('a chunk of a continuation that only repeats the role, or has no content, is not passed on', () => {
  const empty = [chunkOf('2', { role: 'assistant', content: '', refusal: null }), text('')];
  expect(out(CONTINUED, empty).bytes).toBe('');
});

test('a continuation without an index gets one, and its second choice is not sent', () => {
  const none = 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n';
  const other = 'data: {"choices":[{"index":1,"delta":{"content":"b"}}]}\n\n';
  expect(heardOf(CONTINUED, [none, other])).toMatchObject({
    content: `${SENT}a`,
    indexes: new Set([0]),
  });
});

test('reasoning of a continuation is dropped, and its tool call is not', () => {
  const call = chunkOf('2', { tool_calls: [{ index: 0, id: 't' }] }, 'tool_calls');
  const { bytes } = out(CONTINUED, [chunkOf('2', { reasoning_content: 'hm' }), call]);
  expect(heard(bytes)).toMatchObject({ reasoning: '', finishes: ['tool_calls'] });
  expect(bytes).toContain('"tool_calls":[{"index":0,"id":"t"}]');
});

test.each([
  'data: {"error":{"message":"x"},"id":"2"}\n\n',
  'event: error\ndata: oh\n\n',
  ': hi\n\n',
])(
  'the event %j passes through a splice unchanged, also before the new answer has caught up',
  (event) => {
    for (const plan of [REPEATED, CONTINUED, ECHO]) {
      expect(out(plan, [event])).toEqual({ bytes: event, diverged: null });
    }
  },
);

test('a comment inside an event stays with it', () => {
  expect(out(CONTINUED, [`: hi\r\n${text('x').trim()}\r\n\r\n`]).bytes).toMatch(/^: hi\ndata: \{/);
});

test('an event of a continuation that cannot be read is dropped', () => {
  const broken = 'data: {"half\n\n';
  expect(out(CONTINUED, [broken, text('x')]).bytes).toBe(out(CONTINUED, [text('x')]).bytes);
  expect(out(REPEATED, [broken, text(SENT.slice(4))]).diverged).toMatch(/differs/);
});

test('an echo is dropped only where it is the first text of all and comes in one piece', () => {
  const echo = [chunkOf('2', { role: 'assistant', content: '' }), text(SENT), text(', and'), STOP];
  for (const plan of [ECHO, going('always')]) {
    expect(heardOf(plan, echo).content).toBe(`${SENT}, and`);
    expect(heardOf(plan, [text(' – '), text(SENT), STOP]).content).toBe(`${SENT} – ${SENT}`);
  }
});

test('an engine that is known to send only new text may send the same text again', () => {
  const again = [text(SENT), text(SENT.slice(0, 5)), text(SENT.slice(5)), STOP];
  expect(heardOf(CONTINUED, again).content).toBe(SENT.repeat(3));
});

test('a text that has repeated itself may go on repeating itself, at any upstream', () => {
  const song = 'la la la la ';
  const first = [chunkOf('1', { content: song })];
  const plan = going('maybe', song.trimEnd(), ' ');
  expect(heardOf(plan, [text(' '), text('la '), text('la la la')], first).content).toBe(
    `${song}la la la la`,
  );
  const noSeam = going('maybe', ' la la la la');
  const again = [' la', ' la', ' la', ' la', ' la'].map((word) => text(word));
  expect(heardOf(noSeam, again, [chunkOf('1', { content: ' la la la la' })]).content).toBe(
    ' la'.repeat(9),
  );
});

test('blanks that end the sent text are sent again by the continuation and dropped', () => {
  const first = [chunkOf('1', { content: `${SENT}.\n\n` })];
  const plan = going('never', `${SENT}.`, '\n\n');
  for (const pieces of [['\n\nIt'], ['\n', '\n', 'It'], ['\n', '\nI', 't']]) {
    expect(
      heardOf(
        plan,
        pieces.map((piece) => text(piece)),
        first,
      ).content,
    ).toBe(`${SENT}.\n\nIt`);
  }
  // Fewer or none than there were: what was sent stays. More: they go on.
  expect(heardOf(plan, [text('\nIt\n')], first).content).toBe(`${SENT}.\n\nIt\n`);
  expect(heardOf(plan, [text('It')], first).content).toBe(`${SENT}.\n\nIt`);
  expect(heardOf(plan, [text('\n\n\n')], first).content).toBe(`${SENT}.\n\n\n`);
});

test('an answer begun again is recognised also from where the caller had begun it', () => {
  const plan = going('maybe', `Once: ${SENT}`);
  expect(out(plan, [text(SENT.slice(0, 9)), text(SENT.slice(9))]).diverged).toMatch(
    /repeats what was sent/,
  );
  expect(out(plan, [text('Once: '), text(SENT)]).diverged).toMatch(/repeats what was sent/);
});

test.each<[end: string, events: readonly string[]]>([
  ['a finish reason', [STOP]],
  ['[DONE]', [DONE]],
  ['a tool call', [chunkOf('2', { tool_calls: [{ index: 0 }] })]],
])('text that was held back as a possible echo is sent before %s', (_end, events) => {
  expect(heardOf(ECHO, [text('It was '), ...events]).content).toBe(`${SENT}It was `);
});

test('a text of under 16 characters is taken for an echo only where one is due', () => {
  const short = 'It was a dark a';
  const first = [chunkOf('1', { content: short })];
  const echo = [text(short), text(' night')];
  expect(out(going('maybe', short), echo, first).diverged).toMatch(/repeats what was sent/);
  expect(heardOf(going('always', short), echo, first).content).toBe(`${short} night`);
});

test.each<[how: string, events: readonly string[]]>([
  ['differs', [text('It is')]],
  ['differs at its end', [text(`${SENT.slice(0, -1)}T`)]],
  ['finishes early', [text('It was'), STOP]],
  ['ends early', [text('It was'), DONE]],
  ['calls a tool early', [text('It was'), chunkOf('2', { tool_calls: [{ index: 0 }] })]],
  ['refuses', [chunkOf('2', { refusal: 'no' })]],
  ['comes in parts', [chunkOf('2', { content: [{ type: 'text', text: SENT }] })]],
  ['reasons', [chunkOf('2', { reasoning_content: 'hm' })]],
])(
  'an answer given again that %s has diverged for good, and nothing of it is sent',
  (_how, events) => {
    const splice = createSplice(transcriptOf(...FIRST), REPEATED);
    const pieces = events.map((event) => framesIn(event));
    expect(spliced(splice, pieces)).toEqual({ bytes: '', diverged: expect.any(String) as string });
    expect(splice.push(framesIn(text(SENT), STOP)).kind).toBe('diverged');
  },
);

test('text in the same piece as the divergence is not sent either', () => {
  const splice = createSplice(transcriptOf(...FIRST), REPEATED);
  expect(splice.push(framesIn(text('It is'), text(SENT), text('more'))).kind).toBe('diverged');
});

test('a list of parts is never joined to the text that was sent', () => {
  const parts = chunkOf('2', { content: [{ type: 'text', text: 'x' }] });
  expect(out(CONTINUED, [parts]).diverged).toMatch(/list of parts/);
  expect(out(REPEATED, [text(SENT), parts]).diverged).toMatch(/list of parts/);
});

test('an answer given again may call a tool where the first broke off', () => {
  const call = chunkOf('2', { tool_calls: [{ index: 0, id: 't' }] }, 'tool_calls');
  expect(out(REPEATED, [text(SENT), call])).toMatchObject({ diverged: null });
});

const piece = (id: string, index: number | undefined, call: object, callId?: string) =>
  chunkOf(id, { tool_calls: [{ index, id: callId, function: call }] });
/** Text, a whole call, and half of another one. */
const CALLED = [
  ...FIRST,
  piece('1', 0, { name: 'look', arguments: '' }, 'call_1'),
  piece('1', 0, { arguments: '{"at":1}' }),
  piece('1', 1, { name: 'go', arguments: '{"to' }, 'call_2'),
];

test('a tool call that was begun is repeated up to there, and its rest is sent under its own id', () => {
  const again = [
    text(SENT),
    piece('2', 0, { name: 'look', arguments: '{"at"' }, 'other_1'),
    piece('2', 0, { arguments: ':1}' }),
    piece('2', 1, { name: 'go', arguments: '{"to":' }, 'other_2'),
    piece('2', 1, { arguments: '"it"}' }),
    piece('2', 2, { name: 'stop', arguments: '{}' }, 'other_3'),
    chunkOf('2', {}, 'tool_calls'),
    DONE,
  ];
  const { bytes, diverged } = out(REPEATED, again, CALLED);
  expect(diverged).toBeNull();
  const calls = bytes.match(/"tool_calls":\[.*?\]/g);
  expect(calls).toEqual([
    '"tool_calls":[{"index":1,"function":{"arguments":"\\":"}}]',
    '"tool_calls":[{"index":1,"function":{"arguments":"\\"it\\"}"}}]',
    '"tool_calls":[{"index":2,"id":"other_3","function":{"name":"stop","arguments":"{}"}}]',
  ]);
  expect(heard(CALLED.join('') + bytes)).toMatchObject({ finishes: ['tool_calls'], dones: 1 });
});

const LOOKED = piece('2', 0, { name: 'look', arguments: '{"at":1}' });
const GONE = piece('2', 1, { name: 'go', arguments: '{"to' });

test.each<[how: string, events: readonly string[]]>([
  ['calls another tool', [text(SENT), piece('2', 0, { name: 'see', arguments: '' })]],
  ['calls it otherwise', [text(SENT), piece('2', 0, { name: 'look', arguments: '{"at":2' })]],
  ['calls one tool less', [text(SENT), LOOKED, chunkOf('2', {}, 'tool_calls')]],
  ['calls a new tool too early', [text(SENT), piece('2', 2, { name: 'stop', arguments: '' })]],
  ['has more text before its calls', [text(`${SENT}!`), LOOKED]],
  ['has more text after its calls', [text(SENT), LOOKED, GONE, text('!')]],
])('an answer given again that %s has diverged in its tool calls', (_how, events) => {
  const { bytes, diverged } = out(REPEATED, events, CALLED);
  expect([bytes, diverged]).toEqual(['', expect.any(String)]);
});

test('tool calls that come whole and without an index are told apart by their order', () => {
  const whole = (id: string, n: number) => piece(id, undefined, { name: 'f', arguments: `${n}` });
  const { bytes, diverged } = out(REPEATED, [whole('2', 1), whole('2', 2), STOP], [whole('1', 1)]);
  expect([diverged, bytes.match(/"arguments":"."/g)]).toEqual([null, ['"arguments":"2"']]);
  expect(out(REPEATED, [whole('2', 3)], [whole('1', 1)]).diverged).not.toBeNull();
});

test('a continuation that takes the text for reasoning has diverged', () => {
  const thoughts = chunkOf('2', { reasoning_content: '; the rain' });
  expect(out(CONTINUED, [thoughts, STOP]).diverged).toMatch(/reasons instead/);
  expect(out(CONTINUED, [thoughts, DONE]).diverged).toMatch(/reasons instead/);
  // One that only thinks once more before it goes on is.
  expect(heardOf(CONTINUED, [thoughts, text('; the rain'), STOP]).content).toBe(
    `${SENT}; the rain`,
  );
});

const REASONED = [chunkOf('1', { reasoning_content: 'hm so' }), ...FIRST];
const reasons = (reasoning: string) => chunkOf('2', { reasoning });

test.each<[how: string, events: readonly string[]]>([
  ['other', [reasons('hm no')]],
  ['more', [reasons('hm so, and')]],
  ['less', [reasons('hm'), text(`${SENT}!`)]],
  ['no', [text(SENT), STOP]],
])('an answer given again with %s reasoning has diverged', (_how, events) => {
  expect(out(REPEATED, events, REASONED).diverged).not.toBeNull();
});

test('the usage of a continuation is added to the usage of the first stream', () => {
  const usage = { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17, x: { y: 1 } };
  const last = chunkOf('2', {}, null, { choices: [], usage });
  const first = [...FIRST, chunkOf('1', { content: '!' })];
  expect(heardOf({ ...CONTINUED, heldTokens: 2 }, [last], first).usages).toEqual([
    { prompt_tokens: 10, completion_tokens: 7, total_tokens: 17, x: { y: 1 } },
  ]);
  expect(heardOf(REPEATED, [last], first).usages).toEqual([usage]);
});

test('reasoning that the continuation’s prompt did not hold counts as output and is not taken off the prompt', () => {
  const usage = { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 };
  const last = [chunkOf('2', {}, 'stop', { usage })];
  // Two events, and four tokens that are no events.
  expect(heardOf(CONTINUED, last, REASONED).usages).toEqual([
    { prompt_tokens: 11, completion_tokens: 11, total_tokens: 22 },
  ]);
  expect(heardOf({ ...CONTINUED, heldTokens: 6 }, last, REASONED).usages).toEqual([
    { prompt_tokens: 6, completion_tokens: 11, total_tokens: 17 },
  ]);
});

test('a continuation never has more of its prompt cached than the caller’s prompt has', () => {
  const usage = { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 };
  const told = (cached: object) =>
    heardOf(CONTINUED, [chunkOf('2', {}, 'stop', { usage: { ...usage, ...cached } })]).usages[0];
  const details = (cached: number) => ({
    prompt_tokens_details: { audio_tokens: 0, cached_tokens: cached },
  });
  expect(told(details(12))).toMatchObject({ prompt_tokens: 11, ...details(11) });
  expect(told(details(4))).toMatchObject({ prompt_tokens: 11, ...details(4) });
  expect(told({ prompt_tokens_details: null })).toMatchObject({ prompt_tokens_details: null });
  const hit = { prompt_cache_hit_tokens: 12, prompt_cache_miss_tokens: 0 };
  expect(told(hit)).toMatchObject({ prompt_cache_hit_tokens: 11, prompt_cache_miss_tokens: 0 });
});

test('no token count of a splice falls below zero, and a usage of null stays null', () => {
  const usage = { prompt_tokens: 0, completion_tokens: 5, total_tokens: 5 };
  expect(heardOf(CONTINUED, [chunkOf('2', {}, 'stop', { usage })]).usages).toEqual([
    { prompt_tokens: 0, completion_tokens: 6, total_tokens: 6 },
  ]);
  expect(out(CONTINUED, [text('x', { usage: null })]).bytes).toContain('"usage":null');
});

test('token probabilities are dropped from a text that was cut', () => {
  const choices = [{ index: 0, delta: { content: `${SENT}!` }, logprobs: { content: [] } }];
  const event = `data: ${JSON.stringify({ choices })}\n\n`;
  expect(out(REPEATED, [event]).bytes).toContain('"logprobs":null');
  expect(out(CONTINUED, [event]).bytes).toContain('"logprobs":{"content":[]}');
});

test('a continuation that is nested too deep to be written diverges', () => {
  const deep = '['.repeat(200_000) + ']'.repeat(200_000);
  const event = `data: {"choices":[{"delta":{"content":"x"}}],"deep":${deep}}\n\n`;
  expect(out(CONTINUED, [event])).toEqual({ bytes: '', diverged: expect.any(String) as string });
});

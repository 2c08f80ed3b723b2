import { expect, test } from 'vitest';
import { createFramer } from '../../../main/gateway/protocols/sse.ts';
import { createStreamWatch } from '../../../main/gateway/protocols/stream-inspector.ts';
import { chunk } from '../../support/upstream.ts';

/** What the caller gets of some events, and what they showed. */
function watched(choices: number, ...events: readonly string[]) {
  const watch = createStreamWatch(choices);
  const frames = createFramer().push(Buffer.from(events.join('')));
  if (frames === null) throw new Error('no event');
  const taken = watch.take(frames);
  expect(taken.frames.ends.at(-1) ?? 0).toBe(taken.frames.bytes.length);
  const { sight } = taken;
  return { text: taken.frames.bytes.toString(), sight: sight.kind, finished: watch.isFinished };
}

const A = chunk({ content: 'a' });

/** What a watch lets through of events that come in these pieces. */
function readable(...pieces: readonly string[]): string {
  const watch = createStreamWatch(1);
  const framer = createFramer();
  return pieces
    .flatMap((piece) => framer.push(Buffer.from(piece)) ?? [])
    .map((frames) => {
      const { frames: left } = watch.take(frames);
      expect(left.ends.at(-1) ?? 0).toBe(left.bytes.length);
      return left.bytes.toString();
    })
    .join('');
}

test.each([
  ['a text', 'data: hello\n\n'],
  ['half a chunk', `${A.slice(0, 40)}\n\n`],
  ['half a chunk after its beginning', `data: ${A.slice(40)}`],
  ['a chunk without its last bracket', `${A.slice(0, -3)}\n\n`],
  ['braces around no JSON', 'data: {oh no}\n\n'],
  ['a number', 'data: 17\n\n'],
  ['null', 'data: null\n\n'],
  ['a list', 'data: []\n\n'],
  ['nothing', 'data:\n\n'],
  ['a text of one letter', 'data: x\n\n'],
  ['a named text', 'event: ping\ndata: x\n\n'],
  ['half a chunk with CRLF', 'data: {"id":"c1"\r\n\r\n'],
])(
  'the unreadable event of %s is dropped, alone, first, among others and at the end',
  (_name, broken) => {
    expect(readable(broken)).toBe('');
    expect(readable(broken + A)).toBe(A);
    expect(readable(A + A + broken + A, broken, A)).toBe(A.repeat(4));
    expect(readable(A, broken + broken)).toBe(A);
  },
);

const STOP = chunk({}, 'stop');
const DONE = 'data: [DONE]\n\n';

test.each<[name: string, events: readonly string[], text: string, sight: string]>([
  ['text goes on', [A, A], A + A, 'going'],
  ['[DONE] ends it there', [A, STOP, DONE, A], A + STOP + DONE, 'done'],
  ['[DONE] without a blank', [STOP, 'data:[DONE]\n\n'], `${STOP}data:[DONE]\n\n`, 'done'],
  ['[DONE] without a finish reason ends no answer', [A, DONE, A], A, 'unfinished'],
  [
    '[DONE] inside the text is text',
    [chunk({ content: '[DONE]' })],
    chunk({ content: '[DONE]' }),
    'going',
  ],
  [
    '"error" inside the text is text',
    [chunk({ content: '{"error": "x"}' })],
    chunk({ content: '{"error": "x"}' }),
    'going',
  ],
  [
    'an error of null is none',
    ['data: {"error":null,"choices":[]}\n\n'],
    'data: {"error":null,"choices":[]}\n\n',
    'going',
  ],
  ['an error object', [A, 'data: {"error":{"message":"x"}}\n\n'], A, 'error'],
  ['an error text', [A, 'data: {"error":"x"}\n\n', A], A, 'error'],
  [
    'an error next to the choices',
    [A, 'data: {"choices":[],"error":{"code":502}}\n\n'],
    A,
    'error',
  ],
  ['an error without the key', [A, 'data: {"object":"error","message":"x"}\n\n'], A, 'error'],
  ['an event named error', [A, 'event: error\ndata: {"message":"x"}\n\n'], A, 'error'],
  ['an event named error that is no JSON', [A, 'event:error\ndata: oh\n\n'], A, 'error'],
  [
    'an error in a field of its own',
    [A, 'error: {"code":400,"message":"x"}\n\n', DONE],
    A,
    'error',
  ],
  ['a finish reason that says it broke off', [A, chunk({}, 'abort'), DONE], A, 'error'],
  ['what comes first decides', [STOP, DONE, 'data: {"error":"x"}\n\n'], STOP + DONE, 'done'],
])('a stream is inspected up to its end or its error: %s', (_name, events, text, sight) => {
  expect(watched(1, ...events)).toMatchObject({ text, sight });
});

test.each<[name: string, choices: number, events: readonly string[], finished: boolean]>([
  ['a null is no finish reason', 1, [chunk({ content: 'a' })], false],
  ['a finish reason finishes', 1, [chunk({}, 'stop')], true],
  [
    'blanks around the colon do not matter',
    1,
    ['data: {"choices":[{"finish_reason" : "stop"}]}\n\n'],
    true,
  ],
  [
    'blanks around null do not matter',
    1,
    ['data: {"choices":[{"finish_reason" : null}]}\n\n'],
    false,
  ],
  ['an empty text is no finish reason', 1, [chunk({ content: 'a' }, '')], false],
  ['the text "null" is no finish reason', 1, [chunk({ content: 'a' }, 'null')], false],
  ['a word that only this engine knows is a finish reason', 1, [chunk({}, 'eos')], true],
  ['the same choice finishes once', 2, [chunk({}, 'stop'), chunk({}, 'stop')], false],
  [
    'the words inside the text do not count',
    1,
    [chunk({ content: '"finish_reason":"stop"' })],
    false,
  ],
  ['each choice needs its own', 2, [chunk({}, 'stop')], false],
  ['two choices finish with two', 2, [STOP, STOP.replace('"index":0', '"index":1')], true],
])(
  'a finish reason is read from the chunks of each choice: %s',
  (_name, choices, events, finished) => {
    expect(watched(choices, ...events).finished).toBe(finished);
  },
);

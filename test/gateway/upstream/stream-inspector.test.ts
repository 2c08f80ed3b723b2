import { expect, test, vi } from 'vitest';
import { createFramer } from '../../../main/gateway/upstream/sse.ts';
import { createStreamWatch } from '../../../main/gateway/upstream/stream-inspector.ts';
import { chunk } from '../../support/upstream.ts';

function seen(choices: number, ...events: readonly string[]) {
  const watch = createStreamWatch(choices);
  const frames = createFramer().push(Buffer.from(events.join('')));
  return { sight: frames === null ? null : watch.see(frames), finished: watch.finished() };
}

const A = chunk({ content: 'a' });

/** What a watch lets through of events that come in these pieces. */
function readable(...pieces: readonly string[]): string {
  const watch = createStreamWatch(1);
  const framer = createFramer();
  return pieces
    .flatMap((piece) => framer.push(Buffer.from(piece)) ?? [])
    .map((frames) => {
      const left = watch.readable(frames);
      expect(left.ends.at(-1) ?? 0).toBe(left.bytes.length);
      return left.bytes.toString();
    })
    .join('');
}

test.each([
  ['a text', 'data: hello\n\n'],
  ['half a chunk', `${A.slice(0, 40)}\n\n`],
  ['half a chunk behind its beginning', `data: ${A.slice(40)}`],
  ['a chunk without its last bracket', `${A.slice(0, -3)}\n\n`],
  ['braces around no JSON', 'data: {oh no}\n\n'],
  ['a number', 'data: 17\n\n'],
  ['null', 'data: null\n\n'],
  ['a list', 'data: []\n\n'],
  ['nothing', 'data:\n\n'],
  ['a text of one letter', 'data: x\n\n'],
  ['a named text', 'event: ping\ndata: x\n\n'],
  ['half a chunk with CRLF', 'data: {"id":"c1"\r\n\r\n'],
])('%s is dropped, alone, first, among others and at the end', (_law, broken) => {
  expect(readable(broken)).toBe('');
  expect(readable(broken + A)).toBe(A);
  expect(readable(A + A + broken + A, broken, A)).toBe(A.repeat(4));
  expect(readable(A, broken + broken)).toBe(A);
});

test.each([
  ['a comment', ': hi\n\n'],
  ['a name alone', 'event: ping\n\n'],
  ['[DONE]', 'data: [DONE]\n\n'],
  ['[DONE] without a blank', 'data:[DONE]\n\n'],
  ['an event named error that is no JSON', 'event: error\ndata: oh\n\n'],
  ['another chunk', 'data: {"choices":[],"usage":{"a":1}}\n\n'],
  ['an empty object', 'data: {}\n\n'],
  ['a chunk without a blank', 'data:{"id":1}\n\n'],
  ['a chunk with CRLF', 'data: {"id":1}\r\n\r\n'],
  ['a chunk with CR', 'data: {"id":1}\r\r'],
  ['a chunk in two lines', 'data: {"id":\ndata: 1}\n\n'],
  ['a chunk with a name and a number', 'id: 7\nevent: message\ndata: {"id":1}\n\n'],
])('%s stays', (_law, event) => {
  expect(readable(event)).toBe(event);
  expect(readable(A + event + A, event, A)).toBe(A + event + A + event + A);
});

test('events of one shape are not parsed', () => {
  const parse = vi.spyOn(JSON, 'parse');
  readable(...Array.from({ length: 100 }, (_, at) => chunk({ content: `word ${at}` })));
  expect(parse).toHaveBeenCalledTimes(1);
});

test.each<[law: string, events: readonly string[], sight: unknown]>([
  ['text goes on', [A, A], { kind: 'going' }],
  ['[DONE] ends it there', [A, 'data: [DONE]\n\n', A], { kind: 'done', end: A.length + 14 }],
  ['[DONE] without a blank', [A, 'data:[DONE]\n\n'], { kind: 'done', end: A.length + 13 }],
  ['[DONE] inside the text is text', [chunk({ content: '[DONE]' })], { kind: 'going' }],
  ['"error" inside the text is text', [chunk({ content: '{"error": "x"}' })], { kind: 'going' }],
  ['an error of null is none', ['data: {"error":null,"choices":[]}\n\n'], { kind: 'going' }],
  ['an error object', [A, 'data: {"error":{"message":"x"}}\n\n'], { kind: 'error', end: A.length }],
  ['an error text', [A, 'data: {"error":"x"}\n\n', A], { kind: 'error', end: A.length }],
  [
    'an event named error',
    [A, 'event: error\ndata: {"message":"x"}\n\n'],
    { kind: 'error', end: A.length },
  ],
  [
    'an event named error that is no JSON',
    [A, 'event:error\ndata: oh\n\n'],
    { kind: 'error', end: A.length },
  ],
  [
    'what comes first decides',
    ['data: [DONE]\n\n', 'data: {"error":"x"}\n\n'],
    { kind: 'done', end: 14 },
  ],
])('%s', (_law, events, sight) => {
  expect(seen(1, ...events).sight).toEqual(sight);
});

test.each<[law: string, choices: number, events: readonly string[], finished: boolean]>([
  ['a null is no finish reason', 1, [chunk({ content: 'a' })], false],
  ['a finish reason finishes', 1, [chunk({}, 'stop')], true],
  ['blanks around the colon do not matter', 1, ['data: {"finish_reason" : "stop"}\n\n'], true],
  ['nor around null', 1, ['data: {"finish_reason" : null}\n\n'], false],
  [
    'the words inside the text do not count',
    1,
    [chunk({ content: '"finish_reason":"stop"' })],
    false,
  ],
  ['each choice needs its own', 2, [chunk({}, 'stop')], false],
  ['two choices finish with two', 2, [chunk({}, 'stop'), chunk({}, 'length')], true],
])('%s', (_law, choices, events, finished) => {
  expect(seen(choices, ...events).finished).toBe(finished);
});

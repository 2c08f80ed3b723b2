import { expect, test } from 'vitest';
import { createFramer } from '../../main/gateway/upstream/sse.ts';
import { createStreamWatch } from '../../main/gateway/upstream/stream-inspector.ts';
import { chunk } from '../support/upstream.ts';

function seen(choices: number, ...events: readonly string[]) {
  const watch = createStreamWatch(choices);
  const frames = createFramer().push(Buffer.from(events.join('')));
  return { sight: frames === null ? null : watch.see(frames), finished: watch.finished() };
}

const A = chunk({ content: 'a' });

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

import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { readTranscript } from '../../../../main/gateway/chat/resume/transcript.ts';
import { cut } from '../../../support/pieces.ts';
import {
  anyText,
  chunkOf,
  cuts,
  piecesOf,
  streamOf,
  transcriptOf,
} from '../../../support/resume.ts';

const A = chunkOf('1', { content: 'a' });
const THOUGHT = chunkOf('1', { reasoning_content: 'hm' });

function reasonFor(...sent: readonly string[]): string {
  const read = readTranscript(sent.map((text) => Buffer.from(text)));
  return read.kind === 'transcript' ? 'none' : read.reason;
}

test('a text is read back from the bytes that were sent, however it was cut', () => {
  const role = fc.constantFrom('alone' as const, 'with text' as const, 'none' as const);
  fc.assert(
    fc.property(
      anyText(1),
      cuts,
      role,
      fc.array(fc.nat(2000), { maxLength: 8 }),
      (text, deltas, how, places) => {
        const pieces = piecesOf(text, deltas);
        const events = streamOf('1', pieces, how).slice(0, -2);
        const read = readTranscript(cut(Buffer.from(events.join('')), places));
        expect(read).toMatchObject({
          content: text,
          reasoning: '',
          hasRole: how !== 'none',
          // The upstream that continues sends blanks at the end again.
          tokens: {
            content: pieces
              .slice(0, pieces.findLastIndex((piece) => piece.trim() !== '') + 1)
              .filter((piece) => piece !== '').length,
            reasoning: 0,
          },
        });
      },
    ),
    { numRuns: 100 },
  );
});

test('reasoning before the text is read under either name, and once where both are there', () => {
  const both = chunkOf('1', { reasoning: '!', reasoning_content: '!' });
  const other = chunkOf('1', { reasoning: 'so' });
  const read = transcriptOf(THOUGHT, both, other, A);
  // Three events, and the tags around them.
  const tokens = { content: 1, reasoning: 7 };
  expect(read).toMatchObject({ reasoning: 'hm!so', content: 'a', tokens });
});

test('a transcript says where the answer broke off, and has the tool calls as far as they came', () => {
  expect(transcriptOf(THOUGHT)).toMatchObject({ at: 'reasoning', reasoning: 'hm', content: '' });
  expect(transcriptOf(A, THOUGHT)).toMatchObject({ at: 'reasoning', content: 'a' });
  const piece = (call: object) => chunkOf('1', { tool_calls: [call] });
  const read = transcriptOf(
    A,
    piece({ index: 0, id: 'x', function: { name: 'look', arguments: '' } }),
    piece({ index: 0, function: { arguments: '{"at":' } }),
    piece({ index: 1, id: 'y', function: { name: 'go', arguments: '{}' } }),
    piece({ index: 0, function: { arguments: '1}' } }),
    piece({ id: 'z', function: { name: 'whole', arguments: { n: 1 } } }),
  );
  expect(read).toMatchObject({ at: 'calls', content: 'a' });
  expect(read.calls).toEqual([
    { index: 0, name: 'look', arguments: '{"at":1}' },
    { index: 1, name: 'go', arguments: '{}' },
    { index: null, name: 'whole', arguments: '{"n":1}' },
  ]);
});

test('the head of a transcript is what all chunks share, not what is about one of them', () => {
  const extra = { system_fingerprint: 'f', timings: { n: 1 }, obfuscation: 'x', usage: null };
  expect(transcriptOf(chunkOf('1', { content: 'a' }, null, extra)).head).toEqual({
    id: '1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'model-1',
    system_fingerprint: 'f',
  });
});

test('the comment of an earlier continuation, and other comments, are not part of the answer', () => {
  const read = transcriptOf(
    A,
    ': handed over\n\n',
    ':\n\n',
    'data:\n\n',
    chunkOf('1', { content: 'b' }),
  );
  expect(read).toMatchObject({ content: 'ab', tokens: { content: 2 } });
});

test.each<[why: string, reason: string, sent: readonly string[]]>([
  [
    'an old function call is begun',
    'function_call',
    [A, chunkOf('1', { function_call: { name: 'f' } })],
  ],
  ['nothing was sent', 'nothing', []],
  ['only a comment was sent', 'nothing', [': hello\n\n']],
  ['only a role was sent', 'nothing', [chunkOf('1', { role: 'assistant', content: '' })]],
  ['an event is no JSON', 'unreadable', [A, 'data: {"choices\n\n']],
  ['an event is no object', 'unreadable', [A, 'data: 1\n\n']],
  ['an event is an error', 'unreadable', [A, 'data: {"error":{"message":"x"}}\n\n']],
  ['an event is half there', 'unreadable', [A, A.slice(0, -1)]],
  ['it refuses', 'refusal', [A, chunkOf('1', { refusal: 'no' })]],
  ['it speaks', 'audio', [A, chunkOf('1', { audio: { id: 'x' } })]],
  ['its text is a list', 'content_parts', [chunkOf('1', { content: [{ type: 'text' }] })]],
  ['a second choice is begun', 'several_choices', [A, A.replace('"index":0', '"index":1')]],
  ['a chunk has two choices', 'several_choices', ['data: {"choices":[{},{}]}\n\n']],
  ['a finish reason was sent', 'finished', [A, chunkOf('1', {}, 'stop')]],
  ['[DONE] was sent', 'finished', [A, 'data: [DONE]\n\n']],
])('a stream is not continued where %s: %s', (_why, reason, sent) => {
  expect(reasonFor(...sent)).toBe(reason);
});

test.each(['', 'null'])('an empty finish reason, such as %j, does not end an answer', (reason) => {
  expect(reasonFor(A, chunkOf('1', { content: 'b' }, reason))).toBe('none');
});

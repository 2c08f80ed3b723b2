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

test('a text is read back from the bytes that were sent, however it was cut', async () => {
  const role = fc.constantFrom('alone' as const, 'with text' as const, 'none' as const);
  await fc.assert(
    fc.asyncProperty(
      anyText(1),
      cuts,
      role,
      fc.array(fc.nat(2000), { maxLength: 8 }),
      async (text, deltas, how, places) => {
        const pieces = piecesOf(text, deltas);
        const events = streamOf('1', pieces, how).slice(0, -2);
        const read = await readTranscript(cut(Buffer.from(events.join('')), places));
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

test('the head of a transcript is what all chunks share, not what is about one of them', async () => {
  const extra = { system_fingerprint: 'f', timings: { n: 1 }, obfuscation: 'x', usage: null };
  const { head } = await transcriptOf(chunkOf('1', { content: 'a' }, null, extra));
  expect(head).toEqual({
    id: '1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'model-1',
    system_fingerprint: 'f',
  });
});

test.each<[why: string, sent: readonly string[]]>([
  ['a call is begun', [A, chunkOf('1', { tool_calls: [{ index: 0 }] })]],
  ['an old function call is begun', [A, chunkOf('1', { function_call: { name: 'f' } })]],
  ['nothing was sent', []],
  ['only a comment was sent', [': hello\n\n']],
  ['only a role was sent', [chunkOf('1', { role: 'assistant', content: '' })]],
  ['an event is no JSON', [A, 'data: {"choices\n\n']],
  ['an event is no object', [A, 'data: 1\n\n']],
  ['an event is an error', [A, 'data: {"error":{"message":"x"}}\n\n']],
  ['an event is half there', [A, A.slice(0, -1)]],
  ['it refuses', [A, chunkOf('1', { refusal: 'no' })]],
  ['it speaks', [A, chunkOf('1', { audio: { id: 'x' } })]],
  ['its text is a list', [chunkOf('1', { content: [{ type: 'text' }] })]],
  ['a second choice is begun', [A, A.replace('"index":0', '"index":1')]],
  ['a chunk has two choices', ['data: {"choices":[{},{}]}\n\n']],
  ['a finish reason was sent', [A, chunkOf('1', {}, 'stop')]],
  ['[DONE] was sent', [A, 'data: [DONE]\n\n']],
])('a stream is not continued if %s', async (_why, sent) => {
  expect(await readTranscript(sent.map((text) => Buffer.from(text)))).toBeNull();
});

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

async function reasonFor(...sent: readonly string[]): Promise<string> {
  const read = await readTranscript(sent.map((text) => Buffer.from(text)));
  return read.kind === 'transcript' ? 'none' : read.reason;
}

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

test.each<[why: string, reason: string, sent: readonly string[]]>([
  ['a call is begun', 'tool_calls', [A, chunkOf('1', { tool_calls: [{ index: 0 }] })]],
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
])('a stream is not continued if %s: %s', async (_why, reason, sent) => {
  expect(await reasonFor(...sent)).toBe(reason);
});

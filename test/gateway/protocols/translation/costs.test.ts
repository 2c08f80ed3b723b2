import { describe, expect, test } from 'vitest';
import { MESSAGES_TRANSLATION } from '../../../../main/gateway/protocols/messages/endpoint.ts';
import { RESPONSES_TRANSLATION } from '../../../../main/gateway/protocols/responses/endpoint.ts';
import { liveBytes } from '../../../support/live-bytes.ts';
import { streamOf } from '../../../support/translated.ts';

const chunk = (delta: object) => ({ choices: [{ index: 0, delta }] });

describe.each([
  ['Responses', RESPONSES_TRANSLATION],
  ['Messages', MESSAGES_TRANSLATION],
])('a stream of the %s API', (_name, protocol) => {
  const played = (chunks: number, chunkAt: (index: number) => object) => () => {
    const stream = streamOf(protocol);
    for (let index = 0; index < chunks; index += 1) stream.push(chunkAt(index));
    return stream;
  };

  test('a translated stream holds a few bytes for each character, however it arrives', () => {
    const before = liveBytes();
    const stream = played(150_000, () => chunk({ content: 'a' }))();
    // Each piece of a text that is not flat takes forty.
    expect(liveBytes() - before).toBeLessThan(150_000 * 16);
    expect(stream.ended()).toBe('no');
  });

  test('a translated stream with more parts than any answer has ends as a failure', () => {
    const stream = played(20_002, (index) =>
      chunk(index % 2 === 0 ? { content: 'a' } : { reasoning: 'b' }),
    )();
    expect(stream.ended()).toBe('failed');
  });
});

import { describe, expect, test } from 'vitest';
import { MESSAGES_TRANSLATION } from '../../../../main/gateway/protocols/messages/endpoint.ts';
import { RESPONSES_TRANSLATION } from '../../../../main/gateway/protocols/responses/endpoint.ts';
import type { ProtocolTranslation } from '../../../../main/gateway/protocols/translation/translation.ts';
import { liveBytes } from '../../../support/live-bytes.ts';
import { streamOf } from '../../../support/translated.ts';

const chunk = (delta: object, finish_reason: string | null = null) => ({
  model: 'engine-model',
  choices: [{ index: 0, delta, finish_reason }],
});
const piece = (index: number, fields: object) => chunk({ tool_calls: [{ index, ...fields }] });
const begin = (index: number, name: string) =>
  piece(index, { id: `call_${name}`, function: { name, arguments: '' } });
const more = (index: number, json: string) => piece(index, { function: { arguments: json } });
const DONE = chunk({}, 'stop');

/** All events of a stream that ends. */
function told(protocol: ProtocolTranslation, ...chunks: object[]) {
  const stream = streamOf(protocol);
  const text = chunks.map((each) => stream.push(each)).join('') + stream.end();
  expect(stream.ended()).not.toBe('no');
  return eventsIn(text);
}

const typesOf = (events: Record<string, unknown>[]) => events.map(({ type }) => type);

test.each([
  ['are no JSON object', [begin(0, 'look'), more(0, '[1]'), DONE]],
  ['are cut', [begin(0, 'look'), more(0, '{"at"'), DONE]],
])(
  'a stream of the Messages API does not end as a success if the arguments of a call %s',
  (_what, chunks) => {
    const bad = told(MESSAGES_TRANSLATION, ...chunks);
    expect(typesOf(bad)).not.toContain('message_stop');
    expect(bad.at(-1)).toMatchObject({ type: 'error', error: { type: 'api_error' } });
  },
);

test('a stream of the Messages API ends as cut at the token limit if the arguments of a call are', () => {
  const cut = told(MESSAGES_TRANSLATION, begin(0, 'look'), more(0, '{"at"'), chunk({}, 'length'));
  expect(cut.at(-2)).toMatchObject({ delta: { stop_reason: 'max_tokens' } });
});

describe.each([
  ['Responses', RESPONSES_TRANSLATION],
  ['Messages', MESSAGES_TRANSLATION],
])('a translated stream of the %s API', (_name, protocol) => {
  function played(chunks: number, chunkAt: (index: number) => object) {
    const stream = streamOf(protocol);
    for (let index = 0; index < chunks; index += 1) stream.push(chunkAt(index));
    return stream;
  }

  test('a translated stream holds a few bytes for each character, however it arrives', () => {
    const before = liveBytes();
    const stream = played(150_000, () => chunk({ content: 'a' }));
    // Each piece of a text that is not flat takes forty.
    expect(liveBytes() - before).toBeLessThan(150_000 * 8);
    expect(stream.ended()).toBe('no');
  });

  test('a translated stream with more parts than any answer has ends as a failure', () => {
    const stream = played(20_002, (index) =>
      chunk(index % 2 === 0 ? { content: 'a' } : { reasoning: 'b' }),
    );
    expect(stream.ended()).toBe('failed');
  });

  test('a translated stream has no event after its end', () => {
    const stream = streamOf(protocol);
    stream.push(DONE);
    stream.end();
    const error = { status: 502, code: 'upstream_error', message: 'It broke.' };
    const after = [stream.push(chunk({ content: 'a' })), stream.end(), stream.fail(error)];
    expect(after).toEqual(['', '', '']);
  });
});

/** The events of a stream's text, each checked to be named by its type. */
function eventsIn(text: string): Record<string, unknown>[] {
  return text
    .split('\n\n')
    .filter((each) => each !== '')
    .map((each) => {
      const [name, data] = each.split('\n');
      const event = JSON.parse((data ?? '').slice('data: '.length)) as Record<string, unknown>;
      if (name !== `event: ${String(event['type'])}`) throw new Error(`misnamed: ${each}`);
      return event;
    });
}

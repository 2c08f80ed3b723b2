import { expect, test } from 'vitest';
import { expectServed, startCall } from '../support/client.ts';
import { typed } from '../support/protocols.ts';
import { json, sse } from '../support/upstream.ts';
import { startBefore } from '../support/scene.ts';

const ASK = { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'tidy up' }] };
const BLOCK = { type: 'tool_use', id: 'toolu_1', name: 'delete_files' };
const TEXT = { type: 'text', text: 'I begin.' };
const message = (content: readonly object[]) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content,
  stop_reason: 'tool_use',
  usage: { input_tokens: 1, output_tokens: 1 },
});

/** A message that calls a tool, whose input comes in these pieces. */
function calling(pieces: readonly string[], reason: string) {
  const delta = (piece: string) => ({ type: 'input_json_delta', partial_json: piece });
  return sse(
    typed('message_start', { message: { ...message([]), stop_reason: null } }),
    typed('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    typed('content_block_delta', { index: 0, delta: { type: 'text_delta', text: TEXT.text } }),
    typed('content_block_stop', { index: 0 }),
    typed('content_block_start', { index: 1, content_block: { ...BLOCK, input: {} } }),
    ...pieces.map((piece) => typed('content_block_delta', { index: 1, delta: delta(piece) })),
    typed('content_block_stop', { index: 1 }),
    typed('message_delta', { delta: { stop_reason: reason }, usage: { output_tokens: 9 } }),
    typed('message_stop'),
  );
}

const answerTo = (url: string) => startCall(`${url}/v1/messages`, ASK).answer;

test.each([
  ['that end too early', ['{"paths":', '["/tm']],
  ['with single quotes', ["{'paths': ", "['/tmp']}"]],
  ['that are no object', ['["/tmp"', ']']],
  ['that are null', ['null']],
  ['with something behind', ['{"paths":[]}', '</tool>']],
])('a tool is never called with an empty input for pieces %s', async (_what, pieces) => {
  const call = { ...BLOCK, input: { paths: ['/tmp/a'] } };
  const { gateway, a } = await startBefore({
    local: calling(pieces, 'tool_use'),
    a: json(200, message([call])),
  });
  const answer = await answerTo(gateway.url);
  expectServed(answer, 'hosted_a', 'local=bad_response');
  expect(JSON.parse(answer.text)).toMatchObject({ content: [call] });
  a.script = calling(pieces, 'tool_use');
  expect((await answerTo(gateway.url)).status).toBe(502);
});

test('a tool’s input that is empty, or a JSON object, stays as the upstream gave it', async () => {
  for (const [pieces, input] of [
    [[], {}],
    [['{}'], {}],
    [['{"n":', '12}'], { n: 12 }],
  ] as const) {
    const { gateway } = await startBefore({ a: calling(pieces, 'tool_use') });
    const { text } = await answerTo(gateway.url);
    expect(JSON.parse(text)).toMatchObject({ content: [TEXT, { ...BLOCK, input }] });
  }
});

test('a call that the limit of tokens cut off is left out of a whole message', async () => {
  const { gateway } = await startBefore({ a: calling(['{"paths":["/tm'], 'max_tokens') });
  const { status, text } = await answerTo(gateway.url);
  expect(status).toBe(200);
  expect(JSON.parse(text)).toMatchObject({ stop_reason: 'max_tokens', content: [TEXT] });
  expect(text).not.toContain('delete_files');
});

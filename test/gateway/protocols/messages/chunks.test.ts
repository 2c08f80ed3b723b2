import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { isObject } from '../../../../main/platform/json.ts';
import { createMessageChunks } from '../../../../main/gateway/protocols/messages/chunks.ts';
import { MESSAGES_TRANSLATION } from '../../../../main/gateway/protocols/messages/endpoint.ts';
import { dataOf, eventsOf } from '../../../../main/gateway/protocols/sse.ts';
import { chunksOf, saidArbitrary, type Said } from '../../../support/chat-answers.ts';
import { framesIn } from '../../../support/resume.ts';

const EXCHANGE = { request: {}, id: 'x', createdAt: 1_700_000_000, model: 'asked', items: null };

function messageEvents(chunks: readonly object[]): Record<string, unknown>[] {
  const stream = MESSAGES_TRANSLATION.createStream(EXCHANGE);
  const text = chunks.map((chunk) => stream.push(chunk)).join('') + stream.end();
  return eventsOf(framesIn(text)).map((event) => {
    const value: unknown = JSON.parse(dataOf(event) ?? 'null');
    return isObject(value) ? { ...value } : {};
  });
}

/** What chunks say in all. */
function saidIn(chunks: readonly unknown[]) {
  const said = { reasoning: '', text: '', calls: [] as string[][], finish: null as unknown };
  let usage: unknown = null;
  for (const chunk of chunks as Record<string, unknown>[]) {
    const [choice] = (chunk['choices'] ?? []) as Record<string, Record<string, unknown>>[];
    const { reasoning_content: reasoning, content, tool_calls: calls } = choice?.['delta'] ?? {};
    if (typeof reasoning === 'string') said.reasoning += reasoning;
    if (typeof content === 'string') said.text += content;
    for (const each of (calls ?? []) as Record<string, unknown>[]) {
      const { name, arguments: json } = each['function'] as Record<string, string>;
      const call = (said.calls[Number(each['index'])] ??= [String(each['id']), name ?? '', '']);
      call[2] += json ?? '';
    }
    said.finish = choice?.['finish_reason'] ?? said.finish;
    if (isObject(chunk['usage'])) usage = chunk['usage'];
  }
  return { ...said, usage };
}

test('the events of a message give back the chunks that they were made of', () => {
  fc.assert(
    fc.property(saidArbitrary, fc.integer({ min: 1, max: 9 }), (said: Said, pieceChars) => {
      const chunks = chunksOf(said, pieceChars);
      const reader = createMessageChunks();
      const back = messageEvents(chunks).map((event) => reader.read(event));
      expect(back.at(-1)).toBe('end');
      const read = saidIn(back.filter((chunk) => isObject(chunk)));
      const { usage, finish, ...rest } = saidIn(chunks);
      expect(read).toMatchObject(rest);
      expect(finish === 'stop' ? ['stop', 'tool_calls'] : [finish]).toContain(read.finish);
      const { input, cached, output } = said.usage;
      expect([usage, read.usage]).toMatchObject([
        { prompt_tokens: input },
        {
          prompt_tokens: input,
          completion_tokens: output,
          prompt_tokens_details: { cached_tokens: cached },
        },
      ]);
      expect(reader.blocks()?.open).toEqual([]);
    }),
  );
});

test('the blocks without an end and the next index are known from the events of a message', () => {
  const reader = createMessageChunks();
  expect(reader.blocks()).toBeNull();
  reader.read({ type: 'message_start', message: {} });
  expect(reader.blocks()).toEqual({ next: 0, open: [], calls: [] });
  const start = (index: number, block: object) =>
    reader.read({ type: 'content_block_start', index, content_block: block });
  start(0, { type: 'thinking', thinking: '' });
  start(1, { type: 'text', text: '' });
  const open = [
    { index: 0, kind: 'thinking' },
    { index: 1, kind: 'text' },
  ];
  expect(reader.blocks()).toEqual({ next: 2, open, calls: [] });
  reader.read({ type: 'content_block_stop', index: 0 });
  expect(reader.blocks()).toMatchObject({ next: 2, open: open.slice(1) });
  start(2, { type: 'tool_use', id: 't', name: 'look', input: {} });
  const delta = { type: 'input_json_delta', partial_json: '{"at"' };
  reader.read({ type: 'content_block_delta', index: 2, delta });
  const call = { block: 2, index: 0, id: 't', name: 'look', arguments: '{"at"' };
  expect(reader.blocks()?.calls).toEqual([call]);
});

test('a stop sequence that a message names stays named', () => {
  const reader = createMessageChunks();
  const delta = { stop_reason: 'end_turn', stop_sequence: '###' };
  expect(reader.read({ type: 'message_delta', delta, usage: { output_tokens: 3 } })).toMatchObject({
    choices: [{ finish_reason: 'stop', stop_reason: '###' }],
  });
});

test.each([
  [
    'a search of its provider’s',
    { type: 'content_block_start', index: 0, content_block: { type: 'server_tool_use' } },
  ],
  ['a citation', { type: 'content_block_delta', index: 0, delta: { type: 'citations_delta' } }],
  ['a turn that is paused', { type: 'message_delta', delta: { stop_reason: 'pause_turn' } }],
])('a message with %s cannot be continued as a text', (_what, event) => {
  expect(createMessageChunks().read(event)).toMatchObject({
    choices: [{ delta: { content: [{ type: 'unreadable' }] } }],
  });
});

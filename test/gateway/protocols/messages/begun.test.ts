import { expect, test } from 'vitest';
import { createBegunMessage } from '../../../../main/gateway/protocols/messages/events.ts';

const start = (index: number, block: object) => ({
  type: 'content_block_start',
  index,
  content_block: block,
});
const grown = (index: number, delta: object) => ({ type: 'content_block_delta', index, delta });

test('the texts of a begun message, its open blocks and the next index are read from its events', () => {
  const message = createBegunMessage();
  expect(message.blocks()).toBeNull();
  expect(message.read({ type: 'message_start', message: {} })).toEqual({ role: 'assistant' });
  expect(message.blocks()).toEqual({ next: 0, open: [] });
  expect(message.read(start(0, { type: 'thinking', thinking: '' }))).toBeNull();
  expect(message.read(grown(0, { type: 'thinking_delta', thinking: 'hm' }))).toEqual({
    reasoning_content: 'hm',
  });
  expect(message.read(start(1, { type: 'text', text: 'a' }))).toEqual({ content: 'a' });
  expect(message.read(grown(1, { type: 'text_delta', text: 'b' }))).toEqual({ content: 'b' });
  const text = { index: 1, kind: 'text' };
  expect(message.blocks()).toEqual({ next: 2, open: [{ index: 0, kind: 'thinking' }, text] });
  message.read(grown(0, { type: 'signature_delta', signature: 's' }));
  expect(message.blocks()).toEqual({ next: 2, open: [{ index: 0, kind: 'signed' }, text] });
  message.read({ type: 'content_block_stop', index: 0 });
  expect(message.blocks()).toEqual({ next: 2, open: [text] });
});

test.each([
  ['a tool call', start(0, { type: 'tool_use', id: 't', name: 'look', input: {} })],
  ['a search of its provider’s', start(0, { type: 'server_tool_use' })],
  ['a citation', grown(0, { type: 'citations_delta' })],
])('a begun message with %s has content that is not text', (_what, event) => {
  expect(createBegunMessage().read(event)).toEqual({ content: [{ type: 'unreadable' }] });
});

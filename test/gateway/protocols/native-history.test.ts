import { expect, test } from 'vitest';
import { withoutUnsigned } from '../../../main/gateway/protocols/messages/history.ts';
import {
  createItemMemory,
  withoutOwnItems,
} from '../../../main/gateway/protocols/responses/history.ts';

const thought = (signature: string) => ({ type: 'thinking', thinking: 'hm', signature });
const text = { type: 'text', text: 'b' };
const toolUse = { type: 'tool_use', id: 'a', name: 'f', input: { at: 1 } };
const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'c' }] };

const REMOTE = { items: null, isLocal: false };

const cleaned = (body: object): unknown =>
  JSON.parse(withoutUnsigned(Buffer.from(JSON.stringify(body)), REMOTE).toString());

test.each(['unsigned', ''])(
  'reasoning that is signed %j is not sent to a native API',
  (signature) => {
    const body = {
      messages: [
        { role: 'user', content: 'unsigned' },
        { role: 'assistant', content: [thought(signature), text] },
        { role: 'assistant', content: [thought('theirs'), text] },
        { role: 'assistant', content: [thought(signature)] },
        { role: 'user', content: [text] },
      ],
    };
    expect(cleaned(body)).toEqual({
      messages: [
        { role: 'user', content: 'unsigned' },
        { role: 'assistant', content: [text] },
        { role: 'assistant', content: [thought('theirs'), text] },
        { role: 'user', content: [text] },
      ],
    });
  },
);

test('thinking is switched off in a tool loop that loses its reasoning', () => {
  const loop = (...content: object[]) => ({
    thinking: { type: 'enabled', budget_tokens: 2000 },
    messages: [{ role: 'assistant', content }, result],
  });
  const left = { messages: [{ role: 'assistant', content: [toolUse] }, result] };
  expect(cleaned(loop(thought('unsigned'), toolUse))).toEqual({
    ...left,
    thinking: { type: 'disabled' },
  });
  const own = loop(thought('theirs'), thought('unsigned'), toolUse);
  expect(cleaned(own)).toEqual(loop(thought('theirs'), toolUse));
});

const THOUGHT = { type: 'reasoning', summary: [] };
const ID = '0b8fbd0c-6f7c-4d57-9a48-0a3c4ad5a4f1';

test('an engine at local keeps the reasoning of translated answers, without the gateway’s marks', () => {
  const local = { items: null, isLocal: true };
  const messages = [{ role: 'assistant', content: [thought('unsigned'), thought('theirs'), text] }];
  const message = Buffer.from(JSON.stringify({ messages }));
  expect(JSON.parse(withoutUnsigned(message, local).toString())).toEqual({
    messages: [{ role: 'assistant', content: [thought(''), thought('theirs'), text] }],
  });
  const own = { ...THOUGHT, id: `rs_${ID}_0` };
  // vLLM wants an id in what the model said.
  const said = { type: 'message', id: `msg_${ID}_1`, role: 'assistant', status: 'completed' };
  const input = [
    { ...own, encrypted_content: 'unencrypted' },
    { ...own, encrypted_content: 'x' },
    said,
    { type: 'item_reference', id: `msg_${ID}_2` },
  ];
  const items = createItemMemory(10_000);
  items.keep([{ ...said, id: `msg_${ID}_2` }]);
  const response = Buffer.from(JSON.stringify({ input }));
  expect(JSON.parse(withoutOwnItems(response, { ...local, items }).toString())).toEqual({
    input: [own, input[1], said, { ...said, id: `msg_${ID}_2` }],
  });
});

import { expect, test } from 'vitest';
import { bodyOf } from '../../../main/gateway/protocols/json-edit.ts';
import { withoutOwn } from '../../../main/gateway/protocols/thoughts.ts';

const thought = (signature: string) => ({ type: 'thinking', thinking: 'hm', signature });
const text = { type: 'text', text: 'b' };

const REMOTE = { items: null, isLocal: false };

const cleaned = (body: object): unknown =>
  JSON.parse(withoutOwn(bodyOf(Buffer.from(JSON.stringify(body))), REMOTE).bytes.toString());

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

import { expect, test } from 'vitest';
import { bodyOf } from '../../../main/gateway/protocols/json-edit.ts';
import { withoutOwn } from '../../../main/gateway/protocols/thoughts.ts';
import { messages, said, text, thinking, user } from '../../support/refused.ts';

test.each(['unsigned', ''])(
  'reasoning that is signed %j is not sent to a native API',
  (signature) => {
    const unsigned = { ...thinking, signature };
    const known = [user('unsigned'), said(unsigned, text), said(thinking, text), said(unsigned)];
    const body = bodyOf(Buffer.from(JSON.stringify(messages(...known, user('b')))));
    const sent = withoutOwn(body, { items: null, isLocal: false }).bytes.toString();
    const left = [user('unsigned'), said(text), said(thinking, text), user('b')];
    expect(JSON.parse(sent)).toEqual(messages(...left));
  },
);

import { expect, test } from 'vitest';
import { CHAT_COMPLETIONS } from '../../../main/gateway/protocols/chat/endpoint.ts';
import { formRequest } from '../../../main/gateway/protocols/chat-request.ts';

const part = (head: string, body: string) => `--b\r\n${head}\r\n\r\n${body}\r\n`;
const MODEL = 'Content-Disposition: form-data; name="model"';
const FILE =
  'Content-Disposition: form-data; name="file"; filename="model"\r\nContent-Type: audio/wav';
const form = (...parts: readonly string[]) =>
  Buffer.from(`\r\n${parts.join('')}--b--\r\n`, 'latin1');
const LARGE = '\u0000\u00ff'.repeat(100_000);

test.each<[string, Buffer, string | null]>([
  ['before the file', form(part(MODEL, 'm'), part(FILE, LARGE)), 'm'],
  ['after the file', form(part(FILE, LARGE), part(MODEL, 'm')), 'm'],
  ['with a type of its own', form(part(`${MODEL}\r\nContent-Type: text/plain`, 'm')), 'm'],
  ['in another case, unquoted', form(part('content-disposition: FORM-DATA; name=model', 'm')), 'm'],
  ['nowhere', form(part(FILE, LARGE)), null],
  [
    'between two files, where it is not looked for',
    form(part(FILE, LARGE), part(MODEL, 'm'), part(FILE, LARGE)),
    null,
  ],
  ['too long for a name', form(part(MODEL, 'm'.repeat(201))), null],
  ['without an end', Buffer.from(`\r\n--b\r\n${MODEL}\r\n\r\nm`), null],
])(
  'the model in a form is read only from a field that ends, before or after the files: one %s',
  (_where, bytes, value) => {
    expect(formRequest(bytes, CHAT_COMPLETIONS, '').model).toBe(value);
  },
);

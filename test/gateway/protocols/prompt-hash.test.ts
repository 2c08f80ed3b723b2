import { expect, test } from 'vitest';
import { bodyOf } from '../../../main/gateway/protocols/json-edit.ts';
import { fixHash, withHash } from '../../../main/gateway/protocols/chat-request.ts';

/** As Claude Code 2.1 sends it (anthropics/claude-code#68900). */
const line = (cch: string) =>
  `x-anthropic-billing-header: cc_version=2.1.177.01c; cc_entrypoint=sdk-cli; cch=${cch};`;

const block = (text: string) => ({ type: 'text', text });

function fixed(body: object) {
  const before = Buffer.from(JSON.stringify(body));
  const bytes = Buffer.from(before);
  const hash = fixHash(bodyOf(bytes));
  return { before: before.toString(), after: bytes.toString(), bytes, hash };
}

const messages = [{ role: 'user', content: 'hello' }];

test.each([
  ['text', { system: line('36ee5'), messages }],
  ['text with more after it', { system: `${line('36ee5')}\nYou are Claude Code.`, messages }],
  ['blocks', { system: [block(line('36ee5')), block('You are Claude Code.')], messages }],
  [
    'a system message of a chat completion',
    { messages: [{ role: 'system', content: line('36ee5') }, ...messages] },
  ],
  [
    'blocks of such a system message',
    { messages: [{ role: 'system', content: [block(line('36ee5'))] }, ...messages] },
  ],
])(
  'the hash in the first system block is replaced by a constant of its length, in %s',
  (_form, body) => {
    const { before, after, bytes, hash } = fixed(body);
    expect(after).toBe(before.replace('cch=36ee5', 'cch=00000'));
    expect(hash?.value).toBe('36ee5');
    expect(hash && withHash(bytes, hash).toString()).toBe(before);
  },
);

test.each([
  ['in a second block', { system: [block('You are a planner.'), block(line('36ee5'))], messages }],
  ['in what a user writes', { messages: [{ role: 'user', content: line('36ee5') }] }],
  ['after other text', { system: `As in ${line('36ee5')}`, messages }],
  ['in the next line', { system: 'x-anthropic-billing-header: a\ncch=36ee5', messages }],
  ['without a value', { system: line(''), messages }],
  ['of another name', { system: 'x-anthropic-billing-header: ccch=36ee5;', messages }],
  ['where there is no prompt', { model: 'm' }],
])('text that is not such a hash is left as it is: %s', (_what, body) => {
  const { before, after, hash } = fixed(body);
  expect(after).toBe(before);
  expect(hash).toBeNull();
});

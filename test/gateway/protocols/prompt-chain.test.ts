import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { bodyOf } from '../../../main/gateway/protocols/json-edit.ts';
import {
  chainOf,
  type PromptChain,
  hashIsReady,
} from '../../../main/gateway/protocols/prompt-chain.ts';

await hashIsReady;

function chainOfText(text: string, headers: Record<string, string> = {}): PromptChain {
  const chain = chainOf(bodyOf(Buffer.from(text)), headers);
  if (chain === null) throw new Error('no chain');
  return chain;
}

const of = (body: object, headers?: Record<string, string>) =>
  chainOfText(JSON.stringify(body), headers);

/** How many prefixes two prompts have in common. */
function common(a: PromptChain, b: PromptChain): number {
  const at = a.keys.findIndex((key, index) => key !== b.keys[index]);
  return at === -1 ? a.keys.length : at;
}

const user = (content: unknown) => ({ role: 'user', content });
const system = (content: unknown) => ({ role: 'system', content });

const message = fc.record({
  role: fc.constantFrom('user', 'assistant', 'tool'),
  content: fc.string({ minLength: 1, unit: 'grapheme' }),
});
const messages = fc.array(message, { minLength: 1, maxLength: 12 });

test('the chain of a prompt differs if what an engine keys its cache by differs', () => {
  const head = { model: 'm', messages: [user('hi')] };
  const plain = of(head);
  expect(common(plain, of({ ...head, cache_salt: 'a' }))).toBe(0);
  expect(common(of({ ...head, cache_salt: 'b' }), of({ ...head, cache_salt: 'a' }))).toBe(0);
  expect(common(plain, of({ ...head, reasoning_effort: 'high' }))).toBe(0);
  expect(common(plain, of({ ...head, cache_prompt: true }))).toBe(2);
});

test('the chain of a prompt begins with the chain of its earlier turn', () => {
  fc.assert(
    fc.property(messages, messages, fc.string(), (before, more, prompt) => {
      const head = { model: 'm', messages: [system(prompt), ...before] };
      const earlier = of({ ...head, stream: true });
      const later = of({ ...head, messages: [...head.messages, ...more], temperature: 1 });
      expect(common(earlier, later)).toBe(earlier.keys.length);
      expect(earlier.keys).toHaveLength(before.length + 1);
      expect(later.lengths.slice(0, earlier.lengths.length)).toEqual(earlier.lengths);
    }),
  );
});

test('the chains of two prompts are the same up to the first change', () => {
  fc.assert(
    fc.property(messages, fc.nat(), fc.string({ minLength: 1 }), (given, from, added) => {
      const at = from % given.length;
      const edited = given.map((each, index) =>
        index === at ? { ...each, content: each.content + added } : each,
      );
      const [a, b] = [of({ messages: given }), of({ messages: edited })];
      expect(common(a, b)).toBe(at + 1);
    }),
  );
});

test('the chain of a prompt leaves out the cache marks that move on with each turn', () => {
  const mark = { cache_control: { type: 'ephemeral', ttl: '5m' } };
  const block = (text: string, marked: object = {}) => [{ type: 'text', text, ...marked }];
  const before = of({ messages: [user(block('one')), user(block('two', mark))] });
  const after = of({
    messages: [user(block('one')), user(block('two')), user(block('three', mark))],
  });
  expect(common(before, after)).toBe(before.keys.length);
});

const body = { model: 'm', messages: [user('hello')] };
const sessions: readonly (readonly [
  what: string,
  body: object,
  headers: Record<string, string>,
])[] = [
  ['Claude Code names in a header', body, { 'x-claude-code-session-id': 's1' }],
  [
    'Claude Code names in its user',
    { ...body, metadata: { user_id: 'user_ab_account_cd_session_s1' } },
    {},
  ],
  [
    'Claude Code names in its user, as JSON',
    { ...body, metadata: { user_id: '{"device_id":"d","session_id":"s1"}' } },
    {},
  ],
  ['Codex names', body, { 'session-id': 's1' }],
  ['Codex named earlier', body, { session_id: 's1' }],
  ['many name', body, { 'x-session-id': 's1' }],
  ['OpenCode names for others', body, { 'x-session-affinity': 's1' }],
  ['OpenCode names', body, { 'x-opencode-session': 's1' }],
  ['a key of OpenAI names', { ...body, prompt_cache_key: 's1' }, {}],
  ['Open WebUI names', body, { 'x-openwebui-chat-id': 's1' }],
  [
    'is named most certainly of several',
    body,
    { 'x-session-id': 's2', 'x-claude-code-session-id': 's1' },
  ],
];
const known = of(body, { 'x-session-id': 's1' }).session;

test.each(sessions)('the session of a prompt is what %s', (_what, asked, headers) => {
  expect(of(asked, headers).session).toBe(known);
  expect(known).not.toBeNull();
});

test('a second agent with another system prompt has another session', () => {
  const headers = { 'x-session-id': 's1' };
  expect(of({ ...body, system: 'a planner' }, headers).session).not.toBe(known);
});

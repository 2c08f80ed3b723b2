import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { membersOf } from '../../../main/gateway/protocols/json-scan.ts';
import {
  chainOf,
  type PromptChain,
  hashIsReady,
} from '../../../main/gateway/protocols/prompt-chain.ts';

await hashIsReady;

function chainOfText(text: string, headers: Record<string, string> = {}): PromptChain {
  const bytes = Buffer.from(text);
  const found = membersOf(bytes);
  const chain = found.kind === 'object' ? chainOf({ ...found, bytes }, headers) : null;
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
const assistant = (content: unknown) => ({ role: 'assistant', content });
const system = (content: unknown) => ({ role: 'system', content });

const message = fc.record({
  role: fc.constantFrom('user', 'assistant', 'tool'),
  content: fc.string({ minLength: 1, unit: 'grapheme' }),
});
const messages = fc.array(message, { minLength: 1, maxLength: 12 });

describe('the chain of a prompt', () => {
  test('the chain of a prompt differs where what an engine keys its cache by differs', () => {
    const head = { model: 'm', messages: [user('hi')] };
    const plain = of(head);
    expect(common(plain, of({ ...head, cache_salt: 'a' }))).toBe(0);
    expect(common(of({ ...head, cache_salt: 'b' }), of({ ...head, cache_salt: 'a' }))).toBe(0);
    expect(common(plain, of({ ...head, reasoning_effort: 'high' }))).toBe(0);
    expect(common(plain, of({ ...head, cache_prompt: true }))).toBe(2);
  });

  test('a prompt that llama.cpp is asked to read whole has no chain', () => {
    const body = { model: 'm', cache_prompt: false, messages: [user('hi')] };
    expect(() => of(body)).toThrow('no chain');
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

  test('chains have nothing in common where the model, the tools or the system prompt differ', () => {
    const base = { model: 'm', tools: [{ name: 'a' }], system: 's', messages: [user('hello')] };
    for (const other of [{ model: 'n' }, { tools: [{ name: 'b' }] }, { system: 't' }])
      expect(common(of(base), of({ ...base, ...other }))).toBe(0);
    const chat = (text: string) => of({ messages: [system(text), user('hello')] });
    expect(common(chat('one'), chat('two'))).toBe(0);
  });

  test('the chain of a prompt is about as long as its body', () => {
    const chain = of({ model: 'm', messages: [user('hello'), assistant('hi'), user('go on')] });
    expect(chain.keys).toHaveLength(4);
    expect(chain.lengths.at(-1)).toBeGreaterThan(0.8 * chain.bytes);
    expect(chain.lengths).toEqual(chain.lengths.toSorted((a, b) => a - b));
  });

  test('the chain of a Responses request has its instructions and its input', () => {
    const input = [user('hello'), { type: 'function_call_output', output: 'x' }];
    const before = of({ instructions: 'be kind', input });
    const after = of({ instructions: 'be kind', input: [...input, user('go on')] });
    expect(common(before, after)).toBe(3);
  });

  test('the chain of a prompt that is one text has pieces of it', () => {
    const text = 'word '.repeat(4000);
    const chain = of({ prompt: text });
    expect(chain.keys.length).toBeGreaterThan(4);
    expect(common(chain, of({ prompt: `${text} and more` }))).toBe(chain.keys.length - 1);
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

  test('the chain of a long conversation has its beginning and its last messages', () => {
    const many = Array.from({ length: 200 }, (_, at) => user(`message ${at}`));
    const [before, after] = [of({ messages: many.slice(0, 190) }), of({ messages: many })];
    expect(after.keys).toHaveLength(64);
    expect(after.keys[0]).toBe(before.keys[0]);
    expect(after.keys).toContain(before.keys.at(-1));
  });

  test('the chain of a body with more messages than are told apart is that of the first of them', () => {
    const many = Array.from({ length: 5000 }, (_, at) => user(`message ${at}`));
    const [cut, all] = [of({ messages: many.slice(0, 4096) }), of({ messages: many })];
    expect(all.keys).toEqual(cut.keys);
  });

  test('a body without a prompt has no chain', () => {
    const bytes = Buffer.from('{"model":"m"}');
    expect(chainOf({ bytes, members: [] }, {})).toBeNull();
  });
});

describe('the session of a prompt', () => {
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
  ];
  const known = of(body, { 'x-session-id': 's1' }).session;

  test.each(sessions)('the session of a prompt is what %s', (_what, asked, headers) => {
    expect(of(asked, headers).session).toBe(known);
    expect(known).not.toBeNull();
  });

  test('a prompt has no session where nobody names one', () => {
    expect(of({ ...body, metadata: { user_id: 'me' } }).session).toBeNull();
  });

  test('a second agent with another system prompt has another session', () => {
    const headers = { 'x-session-id': 's1' };
    expect(of({ ...body, system: 'a planner' }, headers).session).not.toBe(known);
  });

  test('the most certain of several named sessions is the session of a prompt', () => {
    const headers = { 'x-session-id': 's2', 'x-claude-code-session-id': 's1' };
    expect(of(body, headers).session).toBe(known);
  });
});

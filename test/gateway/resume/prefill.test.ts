import { expect, test } from 'vitest';
import { topLevelMembers } from '../../../main/gateway/request/json-members.ts';
import { isDeterministic } from '../../../main/gateway/resume/determinism.ts';
import { mayEcho, prefillOf, type Prefill } from '../../../main/gateway/resume/prefill.ts';

test.each<[ownedBy: string | null, prefill: Prefill]>([
  ['vllm', 'continue_final_message'],
  ['sglang', 'continue_final_message'],
  ['llamacpp', 'last-message'],
  ['library', 'none'],
  ['openai', 'none'],
  ['VLLM', 'none'],
  ['', 'none'],
  [null, 'none'],
])('models owned by %j are continued by %s', (ownedBy, prefill) => {
  expect(prefillOf(ownedBy)).toBe(prefill);
});

test('an echo is looked for only where engines are known to give one', () => {
  const kinds: Prefill[] = ['none', 'last-message', 'continue_final_message', 'prefix'];
  expect(kinds.filter(mayEcho)).toEqual(['last-message', 'prefix']);
});

test.each<[body: string, is: boolean]>([
  ['{"temperature":0}', true],
  ['{"temperature":0.0}', true],
  ['{"seed":7}', true],
  ['{"seed":0,"temperature":1}', true],
  ['{"temperature":0.2}', false],
  ['{"temperature":null,"seed":null}', false],
  ['{"seed":"7"}', false],
  ['{}', false],
  ['[0]', false],
  ['no JSON', false],
])('%s is deterministic: %s', (body, is) => {
  const bytes = Buffer.from(body);
  expect(isDeterministic({ bytes, members: topLevelMembers(bytes) })).toBe(is);
});

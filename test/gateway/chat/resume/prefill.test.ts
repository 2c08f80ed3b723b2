import { expect, test } from 'vitest';
import { isDeterministic } from '../../../../main/gateway/chat/resume/continuation.ts';
import { topLevelMembers } from '../../../../main/gateway/upstream/json-members.ts';
import {
  continuingOf,
  type Echo,
  type Prefill,
  prefillOf,
} from '../../../../main/gateway/upstream/upstreams.ts';

test.each<[ownedBy: string | null, prefill: Prefill]>([
  ['vllm', 'continue_final_message'],
  ['sglang', 'continue_final_message'],
  ['llamacpp', 'continue_final_message'],
  ['library', 'none'],
  ['openai', 'none'],
  ['VLLM', 'none'],
  ['', 'none'],
  [null, 'none'],
])('models owned by %j are continued by %s', (ownedBy, prefill) => {
  expect(prefillOf(ownedBy)).toBe(prefill);
});

test.each<[address: string, prefill: Prefill | null, echo: Echo | null]>([
  ['api.mistral.ai/v1/', 'prefix', 'always'],
  ['api.deepseek.com/beta/', 'prefix', 'maybe'],
  ['api.deepseek.com/v1/', null, null],
  ['api.deepseek.com/betamax/', null, null],
  ['api.groq.com/openai/v1/', 'last-message', 'maybe'],
  ['api.openai.com/v1/', null, null],
  ['mine.openai.azure.com/openai/v1/', null, null],
  ['openrouter.ai/api/v1/', null, null],
  ['gpu.example.com/v1/', 'continue_final_message', 'never'],
])('a service at %s that lists models of vLLM goes on by %s', (address, prefill, echo) => {
  const continuing = continuingOf({ setting: 'auto', address, ownedBy: 'vllm' });
  expect(continuing).toEqual(prefill === null ? null : { prefill, echo });
});

test.each<[setting: Prefill, ownedBy: string | null, echo: Echo | null]>([
  ['continue_final_message', 'vllm', 'never'],
  ['continue_final_message', 'llamacpp', 'never'],
  ['last-message', 'llamacpp', 'never'],
  ['last-message', 'vllm', 'maybe'],
  ['continue_final_message', null, 'maybe'],
  ['prefix', 'vllm', 'maybe'],
  ['none', 'vllm', null],
])(
  'what is set as %s holds, and of models of %s an echo is looked for: %s',
  (setting, ownedBy, echo) => {
    const continuing = continuingOf({ setting, address: '', ownedBy });
    expect(continuing).toEqual(echo === null ? null : { prefill: setting, echo });
  },
);

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

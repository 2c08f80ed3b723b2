import { expect, test } from 'vitest';
import {
  type Continuing,
  continuingOf,
  type Echo,
  type Prefill,
} from '../../../../main/gateway/upstream/upstreams.ts';

function howOf(continuing: Continuing | null) {
  return continuing === null ? null : { prefill: continuing.prefill, echo: continuing.echo };
}

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
])(
  'a service at %s continues a text by %s although it lists models of vLLM',
  (address, prefill, echo) => {
    const continuing = continuingOf({ setting: 'auto', address, ownedBy: 'vllm' });
    expect(howOf(continuing)).toEqual(prefill === null ? null : { prefill, echo });
  },
);

test.each<[setting: Prefill, ownedBy: string | null, echo: Echo | null]>([
  ['continue_final_message', 'vllm', 'never'],
  ['continue_final_message', 'llamacpp', 'never'],
  ['last-message', 'llamacpp', 'never'],
  ['last-message', 'vllm', 'maybe'],
  ['continue_final_message', null, 'maybe'],
  ['prefix', 'vllm', 'maybe'],
  ['none', 'vllm', null],
])(
  'a prefill that is set to %s holds for models owned by %s, and an echo is expected: %s',
  (setting, ownedBy, echo) => {
    const continuing = continuingOf({ setting, address: '', ownedBy });
    expect(howOf(continuing)).toEqual(echo === null ? null : { prefill: setting, echo });
  },
);

test.each<[prefill: Prefill, ownedBy: string | null, takes: boolean, continues: boolean]>([
  ['continue_final_message', 'llamacpp', true, true],
  ['continue_final_message', 'vllm', true, false],
  ['continue_final_message', null, true, false],
  ['last-message', 'llamacpp', true, true],
  ['last-message', null, false, false],
  ['prefix', null, false, false],
])(
  'a prefill by %s for models owned by %s sends reasoning along: %s, and continues reasoning: %s',
  (setting, ownedBy, takesThought, continuesThought) => {
    const continuing = continuingOf({ setting, address: '', ownedBy });
    expect(continuing).toMatchObject({ takesThought, continuesThought });
  },
);

import { expect, test } from 'vitest';
import { chatStream } from '../support/client.ts';
import { begun, goesOn, ONE_WHOLE, outcomeOf, startListed, TEXT } from '../support/handover.ts';
import { heard } from '../support/resume.ts';
import { cut } from '../support/upstream.ts';

// Who continues a partial answer where nobody has set it.

test.each(['vllm', 'sglang', 'llamacpp'])(
  'a hosted upstream whose models are owned by %s continues without any setting',
  async (owner) => {
    const scripts = [cut(...begun('a', 3)), goesOn('b')] as const;
    const { b, gateway } = await startListed(scripts, { same: owner });
    expect(heard((await chatStream(gateway.url)).text)).toMatchObject(ONE_WHOLE);
    expect((await b.call(1)).json).toMatchObject({
      continue_final_message: true,
      add_generation_prompt: false,
    });
  },
);

test.each<[name: string, owners: Readonly<Record<string, string>>, calls: number]>([
  ['owned by somebody else', { same: 'openai' }, 0],
  ['none', {}, 0],
  ['of several engines, this one of another', { same: 'openai', other: 'vllm' }, 0],
  ['of several engines, this one of vLLM', { same: 'vllm', other: 'openai' }, 1],
  ['of one engine, this one not named', { base: 'vllm', adapter: 'vllm' }, 1],
  ['of several engines, this one not named', { base: 'vllm', another: 'openai' }, 0],
])(
  'whether a hosted upstream is asked to continue whose models are %s',
  async (_name, owners, calls) => {
    const scripts = [cut(...begun('a', 3)), goesOn('b')] as const;
    const { b, gateway } = await startListed(scripts, owners);
    const { text } = await chatStream(gateway.url);
    expect(b.calls).toHaveLength(calls);
    const isWhole = calls === 1;
    expect(outcomeOf(text)).toEqual({ content: isWhole ? TEXT : 'The quick brown ', isWhole });
  },
);

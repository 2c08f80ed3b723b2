import { expect, test } from 'vitest';
import { brokenOff } from '../support/broken-off.ts';
import { chatStream, HELLO, startChat } from '../support/client.ts';
import { begun, goesOn, outcomeOf, startHandover, TEXT, told } from '../support/handover.ts';
import { heard } from '../support/resume.ts';
import { MODEL, startEngine, startTier } from '../support/tier.ts';
import {
  cut,
  json,
  reset,
  sse,
  startUpstream,
  type Upstream,
  type UpstreamGet,
} from '../support/upstream.ts';
import { at } from '../support/words.ts';

// Who goes on from a begun answer where nobody has set it.

const AUTO = { HOSTED_A_PREFILL: 'auto', HOSTED_B_PREFILL: 'auto', HOSTED_C_PREFILL: 'auto' };
const ONE_WHOLE = { content: TEXT, roles: 1, finishes: ['stop'], dones: 1, ids: new Set(['a']) };

/** A list of models and of whose they are. */
function lists(upstream: Upstream, owners: Readonly<Record<string, string>>): void {
  const data = Object.entries(owners).map(([id, owner]) => ({ id, owned_by: owner }));
  const answer = json(200, { object: 'list', data });
  upstream.answerGet = ({ res }: UpstreamGet) => void answer({ res } as never);
}

/** The first breaks off, the second lists these. */
async function startListed(owners: Readonly<Record<string, string>>, second = goesOn('b')) {
  const handover = await startHandover([cut(...begun('a', 3)), second], {
    ...AUTO,
    HOSTED_C_BASE_URL: '',
  });
  lists(handover.b, owners);
  return handover;
}

test.each(['vllm', 'sglang', 'llamacpp'])(
  'a hosted upstream whose models are owned by %s continues without any setting',
  async (owner) => {
    const { b, gateway } = await startListed({ same: owner });
    expect(heard((await chatStream(gateway.url)).text)).toMatchObject(ONE_WHOLE);
    expect((await b.call(1)).json).toMatchObject({
      continue_final_message: true,
      add_generation_prompt: false,
    });
    expect(b.gets.map(({ path }) => path)).toEqual(['/models']);
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
    const { b, gateway } = await startListed(owners);
    const { text } = await chatStream(gateway.url);
    expect(b.calls).toHaveLength(calls);
    const isWhole = calls === 1;
    expect(outcomeOf(text)).toEqual({ content: isWhole ? TEXT : 'The quick brown ', isWhole });
  },
);

test('a list of models is requested with the upstream’s own key and headers, and not again for a while', async () => {
  const { a, b, clock, gateway } = await startHandover([undefined, goesOn('b')], {
    ...AUTO,
    HOSTED_B_API_KEY: 'key-of-b-0123456789',
    HOSTED_B_HEADERS: '{"x-team":"t"}',
  });
  lists(b, { same: 'vllm' });
  const resumed = async () => {
    a.script = cut(...begun('a', 3));
    expect(heard((await chatStream(gateway.url)).text)).toMatchObject(ONE_WHOLE);
    return b.gets.length;
  };
  expect([await resumed(), await resumed()]).toEqual([1, 1]);
  expect(b.gets[0]?.headers).toMatchObject({
    authorization: 'Bearer key-of-b-0123456789',
    'x-team': 't',
  });
  clock.advance(600_000);
  expect(await resumed()).toBe(2);
});

test('no list of models is requested while no stream breaks off, nor from an upstream that could not continue', async () => {
  const { a, b, c, gateway } = await startHandover([sse(...told('a'))], {
    ...AUTO,
    HOSTED_B_MODEL: 'another',
    HOSTED_C_PREFILL: 'none',
  });
  await chatStream(gateway.url);
  a.script = cut(...begun('a', 3));
  await chatStream(gateway.url);
  expect([a, b, c].map(({ gets }) => gets.length)).toEqual([0, 0, 0]);
});

test('a list of models that does not come is waited for briefly, and the answer is not continued', async () => {
  const { b, clock, gateway } = await startListed({});
  b.answerGet = () => {};
  const pending = startChat(gateway.url, { ...HELLO, stream: true });
  await b.get(1);
  clock.advance(2000);
  expect(brokenOff((await pending.answer).text).before).toBe(begun('a', 3).join(''));
  expect(b.calls).toHaveLength(0);
});

test('an upstream that is known to continue does not wait for the list of models of one after it', async () => {
  const { b, c, gateway } = await startHandover([cut(...begun('a', 3)), goesOn('b')], AUTO);
  lists(b, { same: 'vllm' });
  c.answerGet = () => {};
  expect(heard((await chatStream(gateway.url)).text)).toMatchObject(ONE_WHOLE);
  expect(c.gets).toHaveLength(1);
});

test('a machine that continues does not wait for a hosted list of models, whose upstream continues if it fails', async () => {
  const first = await startEngine('', cut(...begun('a', 3)));
  const second = await startEngine('llamacpp', goesOn('b'));
  const hosted = await startUpstream(goesOn('c'));
  hosted.answerGet = () => {};
  const settings = { ...at({ hosted_a: hosted.url }), HOSTED_A_MODEL: MODEL };
  const tier = await startTier([first, second], { ...settings, FAIL_THRESHOLD: '1000' });
  expect(heard((await chatStream(tier.url)).text)).toMatchObject(ONE_WHOLE);
  expect(hosted.gets).toHaveLength(0);
  second.script = reset;
  lists(hosted, { [MODEL]: 'sglang' });
  const again = await startTier([first, second], settings);
  expect(heard((await chatStream(again.url)).text)).toMatchObject(ONE_WHOLE);
  expect([hosted.gets.length, hosted.calls.length]).toEqual([1, 1]);
});

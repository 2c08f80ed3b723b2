import { describe, expect, test } from 'vitest';
import { chatStream, HELLO, startChat } from '../support/client.ts';
import { endedInError } from '../support/protocols.ts';
import {
  askedOf,
  begun,
  goesOn,
  rejectsPrefill,
  startHandover,
  TEXT,
  told,
  ONE_WHOLE,
  outcomeOf,
  startListed,
} from '../support/handover.ts';
import { counted } from '../support/report.ts';
import { heard } from '../support/resume.ts';
import { attemptsOf } from '../support/scene.ts';
import { cut, error, hang, reset, sse, type Script } from '../support/upstream.ts';

const BEGUN = begun('a', 3);

const FLAGS = { continue_final_message: true, add_generation_prompt: false };

test.each([
  ['last-message', {}, {}],
  ['continue_final_message', {}, FLAGS],
  ['prefix', { prefix: true }, {}],
])(
  'an upstream whose prefill is %s is asked to continue the text, and the caller’s messages are unchanged',
  async (prefill, mark, flags) => {
    const settings = { HOSTED_B_PREFILL: prefill };
    const { a, b, gateway } = await startHandover([cut(...BEGUN), goesOn('b')], settings);
    const answer = await chatStream(gateway.url, { temperature: 0.7, max_tokens: 100 });
    expect(heard(answer.text)).toMatchObject(ONE_WHOLE);
    expect((await b.call(1)).json).toEqual({
      ...(await a.call(1)).json,
      messages: [...HELLO.messages, { role: 'assistant', content: 'The quick brown', ...mark }],
      max_tokens: 97,
      ...flags,
    });
  },
);

describe.each(['last-message', 'continue_final_message', 'prefix'])(
  'where the prefill is %s',
  (prefill) => {
    const settings = { HOSTED_B_PREFILL: prefill, HOSTED_C_PREFILL: prefill };

    test('an upstream that begins the answer again is skipped', async () => {
      const scripts = [cut(...BEGUN), sse(...told('b')), goesOn('c')];
      const { b, c, gateway } = await startHandover(scripts, settings);
      expect(heard((await chatStream(gateway.url)).text)).toMatchObject(ONE_WHOLE);
      expect([b.calls.length, c.calls.length]).toEqual([1, 1]);
      expect(await counted(gateway, 'hosted_b')).toEqual({ fails: 0, successes: 0 });
    });

    test('a caller gets an answer that visibly ends, never a doubled one, if all upstreams begin it again', async () => {
      const restart = sse(...told('b'));
      const { gateway } = await startHandover([cut(...BEGUN), restart, restart], settings);
      const { content, dones } = heard(endedInError((await chatStream(gateway.url)).text).before);
      expect([content, dones]).toEqual(['The quick brown ', 0]);
    });
  },
);

test.each<[name: string, refuses: Script, reason: string]>([
  ['rejects a prefill', rejectsPrefill, 'http_400'],
  ['says 422', error(422), 'http_422'],
  ['says that the prompt is too long', error(400, 'maximum context length is 9'), 'context_length'],
  ['is overloaded', error(503), 'http_503'],
  ['resets the connection', reset, 'unreachable'],
  ['breaks off before it says anything', cut(), 'bad_response'],
  ['answers with an error event', sse('data: {"error":"no"}\n\n'), 'bad_response'],
  ['rejects your key', error(401), 'credentials'],
  ['has spent its quota', error(402), 'quota'],
])(
  'an upstream that %s when asked to continue is skipped, and the caller cannot tell',
  async (_name, refuses, reason) => {
    const { gateway } = await startHandover([cut(...BEGUN), refuses, goesOn('c')]);
    const answer = await chatStream(gateway.url);
    expect(heard(answer.text)).toMatchObject(ONE_WHOLE);
    expect(answer.text.match(/^: .*$/gm)).toEqual([': carried on by hosted_c']);
    expect(attemptsOf(gateway)).toEqual([
      ['hosted_a', 'turn', 'bad_response'],
      ['hosted_b', 'resume', reason],
      ['hosted_c', 'resume', null],
    ]);
  },
);

// Mistral
const LAST_ROLE = 'Expected last role User or Tool (or Assistant with prefix True) for serving';

test.each([
  [400, LAST_ROLE],
  [400, 'This model does not support assistant message prefill.'],
  [400, 'Prefilling is not supported by this model.'],
  [422, ''],
])(
  'an upstream that refuses a prefill with %s "%s" repeats at once what can be compared',
  async (status, words) => {
    const b: Script = (call) =>
      (askedOf(call) === null ? sse(...told('b')) : error(status, words))(call);
    const { b: second, c, gateway } = await startHandover([cut(...BEGUN), b, goesOn('c')]);
    const answer = await chatStream(gateway.url, { temperature: 0 });
    expect(heard(answer.text)).toMatchObject(ONE_WHOLE);
    expect([second.calls.length, c.calls.length]).toEqual([2, 0]);
  },
);

test('an upstream that is silent when asked to continue is skipped when its time is up, and aborted', async () => {
  const { b, clock, gateway } = await startHandover([cut(...BEGUN), hang, goesOn('c')]);
  const pending = startChat(gateway.url, { ...HELLO, stream: true });
  const call = await b.call(1);
  clock.advance(30_000);
  expect(heard((await pending.answer).text)).toMatchObject(ONE_WHOLE);
  await call.gone;
});

// Who continues a partial answer where nobody has set it.

test.each<[name: string, owners: Readonly<Record<string, string>>, calls: number]>([
  ['owned by somebody else', { same: 'openai' }, 0],
  ['none', {}, 0],
  ['of several engines, this one of another', { same: 'openai', other: 'vllm' }, 0],
  ['of several engines, this one of vLLM', { same: 'vllm', other: 'openai' }, 1],
  ['owned by SGLang', { same: 'sglang' }, 1],
  ['owned by llama.cpp', { same: 'llamacpp' }, 1],
  ['of one engine, this one not named', { base: 'vllm', adapter: 'vllm' }, 1],
  ['of several engines, this one not named', { base: 'vllm', another: 'openai' }, 0],
])(
  'whether a hosted upstream is asked to continue whose models are %s',
  async (_name, owners, calls) => {
    const scripts = [cut(...begun('a', 3)), goesOn('b')] as const;
    const { b, gateway } = await startListed(scripts, owners);
    const { text } = await chatStream(gateway.url);
    const isWhole = calls === 1;
    expect(b.calls).toMatchObject(isWhole ? [{ json: FLAGS }] : []);
    expect(outcomeOf(text)).toEqual({ content: isWhole ? TEXT : 'The quick brown ', isWhole });
  },
);

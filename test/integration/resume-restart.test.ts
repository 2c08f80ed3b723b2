import { expect, test } from 'vitest';
import { endedInError } from '../support/protocols.ts';
import { chatStream } from '../support/client.ts';
import { begun, ONE_WHOLE, startHandover, told, WORDS } from '../support/handover.ts';
import { counted, inFlight } from '../support/report.ts';
import { chunkOf, heard } from '../support/resume.ts';
import { cut, sse, stall, type Script } from '../support/upstream.ts';

const BEGUN = begun('a', 4);
const SAME = { temperature: 0 };
const NO_PREFILL = { HOSTED_A_PREFILL: 'none', HOSTED_B_PREFILL: 'none', HOSTED_C_PREFILL: 'none' };

const startAnew = (...scripts: readonly Script[]) => startHandover(scripts, NO_PREFILL);

test.each([
  ['temperature 0', { temperature: 0 }],
  ['a seed', { seed: 7 }],
])(
  'a request with %s is sent again, as it was, and only what is new is passed on',
  async (_name, more) => {
    const { a, b, gateway } = await startAnew(cut(...BEGUN), sse(...told('b')));
    const answer = await chatStream(gateway.url, more);
    expect(heard(answer.text)).toMatchObject(ONE_WHOLE);
    expect(answer.text.match(/^: .*$/gm)).toEqual([': carried on by hosted_b']);
    expect((await b.call(1)).body).toEqual((await a.call(1)).body);
  },
);

test('a request that is not deterministic is not sent again, as the next answer might be any other', async () => {
  const { b, gateway } = await startAnew(cut(...BEGUN), sse(...told('b')));
  const answer = await chatStream(gateway.url, { temperature: 0.1 });
  expect(endedInError(answer.text).before).toBe(BEGUN.join(''));
  expect(b.calls).toHaveLength(0);
});

test('an answer given again that differs is not relayed, and the next upstream is asked', async () => {
  const other = stall(...told('b', ['The ', 'slow ', 'brown ', 'fox ']).slice(0, -1));
  const { b, gateway } = await startAnew(cut(...BEGUN), other, sse(...told('c')));
  expect(heard((await chatStream(gateway.url, SAME)).text)).toMatchObject(ONE_WHOLE);
  await b.gone(1);
  expect(await counted(gateway, 'hosted_a')).toEqual({ fails: 1, successes: 0 });
  expect(await counted(gateway, 'hosted_b')).toEqual({ fails: 0, successes: 0 });
  expect(inFlight(gateway)).toBe(0);
});

test('a third answer is compared with all that the caller has from the first two', async () => {
  const { gateway } = await startAnew(
    cut(...BEGUN),
    cut(...begun('b', 6)),
    sse(...told('c', [...WORDS.slice(0, 5), 'leaps ', 'over.'])),
  );
  const { text } = await chatStream(gateway.url, SAME);
  expect(heard(endedInError(text).before).content).toBe(WORDS.slice(0, 6).join(''));
});

const THOUGHT = chunkOf('a', { reasoning_content: 'a fox, then' });

test('reasoning before the text of an answer given again is compared and not sent twice', async () => {
  const { gateway } = await startAnew(
    cut(THOUGHT, ...BEGUN),
    sse(
      chunkOf('b', { role: 'assistant', reasoning_content: 'a fox' }),
      chunkOf('b', { reasoning_content: ', then' }),
      ...told('b'),
    ),
  );
  const { text } = await chatStream(gateway.url, SAME);
  expect(heard(text)).toMatchObject({ ...ONE_WHOLE, reasoning: 'a fox, then' });
});

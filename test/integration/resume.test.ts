import { expect, test } from 'vitest';
import { type Answer, chatStream, HELLO, startChat } from '../support/client.ts';
import {
  askedOf,
  begun,
  goesOn,
  missing,
  ONE_WHOLE,
  startHandover,
  startListed,
  told,
  WORDS,
} from '../support/handover.ts';
import { counted, inFlight, turns } from '../support/report.ts';
import { chunkOf, heard } from '../support/resume.ts';
import { STREAM } from '../support/scene.ts';
import { cut, half, hang, headOnly, type Script, sse, stall } from '../support/upstream.ts';
import { endedInError } from '../support/protocols.ts';
import { AT_ONCE_MS, fastest, millisecondsUntil } from '../support/at-once.ts';

const ERROR = 'data: {"error":{"message":"no"}}\n\n';

/** What a caller makes of an answer. */
function seenOf({ text, status, upstream, reason }: Answer) {
  const isWhole = text.endsWith('data: [DONE]\n\n');
  return { status, upstream, reason, isWhole, ...heard(text) };
}

/** One ordinary answer, as if nobody but `a` had ever been asked. */
const HEAD = { status: 200, upstream: 'hosted_a', reason: 'none' };
const ONE = { models: new Set(['model-a']), indexes: new Set([0]), usages: [] };
const ORDINARY = { ...HEAD, ...ONE_WHOLE, ...ONE, isWhole: true };

/** How a stream breaks off after `sent`; `next` is the event that would have come. */
const BREAKS: readonly [name: string, (sent: readonly string[], next: string) => Script][] = [
  ['a cut', (sent) => cut(...sent)],
  ['a cut inside an event', (sent, next) => cut(...sent, next.slice(0, 30))],
  ['a clean end', (sent) => sse(...sent)],
  ['a clean end inside an event', (sent, next) => sse(...sent, next.slice(0, 30))],
  ['an error among the events', (sent, next) => sse(...sent, ERROR, next)],
  ['an error in one piece with text', (sent) => sse(sent.join('') + ERROR)],
  ['an event named error', (sent) => sse(...sent, 'event: error\ndata: {"message":"no"}\n\n')],
];

test.each(BREAKS)(
  'another upstream continues a stream that breaks off by %s after any event, and the caller cannot tell',
  async (_name, breaking) => {
    const { a, b, gateway } = await startHandover([undefined, goesOn('b')]);
    for (let words = 1; words <= WORDS.length; words += 1) {
      a.script = breaking(begun('a', words), told('a')[1 + words] ?? '');
      const answer = await chatStream(gateway.url);
      expect(seenOf(answer)).toEqual(ORDINARY);
      expect(answer.text.match(/^: .*$/gm)).toEqual([': carried on by hosted_b']);
      expect(askedOf(await b.call(words))).toBe(WORDS.slice(0, words).join('').trimEnd());
    }
    expect(inFlight(gateway)).toBe(0);
  },
);

test('another upstream continues a stream that falls silent, and the silent call is aborted', async () => {
  const { a, clock, gateway } = await startHandover([stall(...begun('a', 3)), goesOn('b')]);
  const pending = startChat(gateway.url, STREAM);
  await pending.received('brown');
  clock.advance(5000);
  expect(seenOf(await pending.answer)).toEqual(ORDINARY);
  await a.gone(1);
});

test('a third upstream continues after a second cut, from all that was sent', async () => {
  const secondBreaks: Script = (call) => cut(...told('b', missing(call)).slice(0, 4))(call);
  const { c, gateway } = await startHandover([cut(...begun('a', 2)), secondBreaks, goesOn('c')]);
  const answer = await chatStream(gateway.url);
  expect(seenOf(answer)).toEqual(ORDINARY);
  expect(answer.text.match(/^: .*$/gm)).toEqual([
    ': carried on by hosted_b',
    ': carried on by hosted_c',
  ]);
  expect(askedOf(await c.call(1))).toBe('The quick brown fox');
});

test('comments of a continuation are passed on, and its usage once', async () => {
  const usage = { prompt_tokens: 9, completion_tokens: 6, total_tokens: 15 };
  const last = { id: 'b', object: 'chat.completion.chunk', choices: [], usage };
  const second: Script = (call) => {
    const events = told('b', missing(call));
    const rest = [`data: ${JSON.stringify(last)}\n\n`, 'data: [DONE]\n\n'];
    return sse(': warm\n\n', ...events.slice(0, -1), ...rest)(call);
  };
  const { gateway } = await startHandover([cut(...begun('a', 3)), second]);
  const { text } = await chatStream(gateway.url, { stream_options: { include_usage: true } });
  expect(text).toContain(': warm\n\n');
  // Three events were sent: they were part of the prompt, and are part of the answer.
  const all = { prompt_tokens: 6, completion_tokens: 9, total_tokens: 15 };
  expect(heard(text).usages).toEqual([all]);
  expect(heard(text).ids).toEqual(new Set(['a']));
});

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

const thinks = (id: string, ...pieces: readonly string[]) =>
  pieces.map((piece) => chunkOf(id, { reasoning_content: piece }));

const ROLE = chunkOf('a', { role: 'assistant', content: null });

const THINKING = [ROLE, ...thinks('a', 'a fox', ', then')];
const REST = [...thinks('b', ' a dog'), ...told('b').slice(1)];

test('reasoning is continued by llama.cpp, which gets it as it was sent', async () => {
  const { b, gateway } = await startListed([cut(...THINKING), sse(...REST)], { same: 'llamacpp' });
  const { text } = await chatStream(gateway.url, { max_tokens: 50 });
  expect(heard(text)).toMatchObject({ ...ONE_WHOLE, reasoning: 'a fox, then a dog' });
  const { messages, max_tokens: limit } = (await b.call(1)).json;
  const begunSoFar = { role: 'assistant', content: '', reasoning_content: 'a fox, then' };
  expect((messages as object[]).at(-1)).toEqual(begunSoFar);
  // Two pieces, and the tag before them with its line break.
  expect(limit).toBe(46);
});

/** Its connection stays open: only the gateway can end it. */
const BROKEN = stall(...begun('a', 3), ERROR);

test.each<[phase: string, second: Script, more: object, seen: string]>([
  ['before the head', hang, {}, 'brown'],
  ['between head and content', headOnly, {}, 'brown'],
  ['in half an answer', half('{"choices":['), {}, 'brown'],
  ['while it is going on', stall(chunkOf('b', { content: 'fox ' })), {}, 'fox'],
  ['while it repeats', stall(...begun('b', 2)), { temperature: 0 }, 'carried on'],
])(
  'a caller that leaves a continuation %s aborts both upstream calls at once, and no other upstream is called',
  async (_phase, second, more, seen) => {
    const kind = 'temperature' in more ? 'none' : 'last-message';
    const { a, b, c, gateway } = await startHandover([BROKEN, second, goesOn('c')], {
      HOSTED_B_PREFILL: kind,
      HOSTED_C_PREFILL: kind,
    });
    b.script = second;
    let tries = 0;
    const took = await fastest(async () => {
      tries += 1;
      a.script = BROKEN;
      const pending = startChat(gateway.url, { ...HELLO, ...more, stream: true });
      const [broken, call] = [await a.call(tries), await b.call(tries)];
      await pending.received(seen);
      await turns(gateway);
      pending.leave();
      return millisecondsUntil(Promise.all([broken.gone, call.gone]));
    });
    expect(took).toBeLessThan(AT_ONCE_MS);
    await turns(gateway);
    expect(inFlight(gateway)).toBe(0);
    expect(await counted(gateway, 'hosted_a')).toEqual({ fails: tries, successes: 0 });
    expect(await counted(gateway, 'hosted_b')).toEqual({ fails: 0, successes: 0 });
    expect(c.calls).toHaveLength(0);
    expect(gateway.host.snapshot().requests[0]?.state).toBe('cancelled');
  },
);

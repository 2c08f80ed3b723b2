import { expect, test } from 'vitest';
import { chatStream, startChat, type Answer } from '../support/client.ts';
import {
  askedOf,
  begun,
  goesOn,
  missing,
  ONE_WHOLE,
  startHandover,
  told,
  WORDS,
} from '../support/handover.ts';
import { inFlight } from '../support/report.ts';
import { heard } from '../support/resume.ts';
import { STREAM } from '../support/scene.ts';
import { cut, sse, stall, type Script } from '../support/upstream.ts';

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

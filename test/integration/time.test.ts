import { describe, expect, test } from 'vitest';
import { expectServed, startChat } from '../support/client.ts';
import { turns } from '../support/report.ts';
import {
  answers,
  chunk,
  completion,
  DONE,
  half,
  hang,
  ROLE,
  stall,
  STOP,
  type Script,
} from '../support/upstream.ts';
import { PLAIN, startStill, STREAM } from '../support/scene.ts';

const A = chunk({ content: 'a' });

/** Two hosted upstreams with 8 s to the first content and 5 s of silence, and a clock that stands still. */
const startPair = (script: Script, settings: Record<string, string> = {}) =>
  startStill(
    { a: script, b: answers('from b') },
    { HOSTED_A_TIMEOUT_MS: '8000', IDLE_TIMEOUT_MS: '5000', HEDGE: 'off', ...settings },
  );

const NO_CONTENT: readonly [name: string, script: Script][] = [
  ['nothing', hang],
  ['headers alone', half('')],
  ['events without content', stall(ROLE, ': waiting\n\n', chunk({ content: '' }))],
  ['half an event', stall(A.slice(0, 60))],
  ['half an answer', half('{"choices":[')],
  ['half an error', half('{"error":', 503)],
];

describe.each([
  ['a stream', STREAM, {}],
  ['a plain answer', PLAIN, {}],
  ['a plain answer, asked for whole', PLAIN, { HOSTED_A_ASSEMBLE: 'false' }],
])('for a caller of %s', (_caller, body, settings) => {
  test.each(NO_CONTENT)(
    'an upstream that sends %s within the timeout is a timeout',
    async (_name, script) => {
      const { a, b, clock, gateway } = await startPair(script, settings);
      const pending = startChat(gateway.url, body);
      const call = await a.call(1);
      await turns(gateway);
      clock.advance(7999);
      await turns(gateway);
      expect(b.calls).toHaveLength(0);
      clock.advance(1);
      const answer = await pending.answer;
      expectServed(answer, 'hosted_b', 'hosted_a=timeout');
      await call.gone;
    },
  );
});

test.each([
  ['a stream', STREAM],
  ['a plain answer', PLAIN],
])(
  '%s may take any time after its first content, as long as it is never silent for the idle limit',
  async (_caller, body) => {
    const { a, b, clock, gateway } = await startPair(stall(ROLE));
    const pending = startChat(gateway.url, body);
    const { res } = await a.call(1);
    for (let token = 0; token < 10; token += 1) {
      res.write(chunk({ content: `token ${token}.` }));
      await turns(gateway);
      clock.advance(4999);
    }
    res.end(STOP + DONE);
    const answer = await pending.answer;
    expectServed(answer, 'hosted_a');
    expect(answer.text).toContain('token 9.');
    expect(b.calls).toHaveLength(0);
  },
);

test.each([
  ['a stream', STREAM, '"code":"upstream_timeout"'],
  ['an answer that is being assembled', PLAIN, 'from b'],
])('%s that sends only comments is silent', async (_what, body, end) => {
  const { a, clock, gateway } = await startPair(stall(A), { RESUME: 'off' });
  const pending = startChat(gateway.url, body);
  const { res, gone } = await a.call(1);
  await turns(gateway);
  for (let beat = 0; beat < 4; beat += 1) {
    clock.advance(1000);
    res.write(': beat\n\n');
    await turns(gateway);
  }
  clock.advance(1000);
  await gone;
  expect((await pending.answer).text).toContain(end);
});

test('a whole answer is limited by the timeout in all, however steadily it comes', async () => {
  const { a, clock, gateway } = await startPair(half(''), { HOSTED_A_ASSEMBLE: 'false' });
  const pending = startChat(gateway.url, PLAIN);
  const { res } = await a.call(1);
  const text = JSON.stringify(completion('hello'));
  for (let at = 0; at < 8; at += 1) {
    res.write(text[at]);
    await turns(gateway);
    clock.advance(1000);
  }
  expectServed(await pending.answer, 'hosted_b', 'hosted_a=timeout');
});

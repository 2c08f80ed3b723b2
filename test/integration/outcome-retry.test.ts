import { expect, test } from 'vitest';
import { chatStream, expectServed, textOf } from '../support/client.ts';
import { answers, error, type Script } from '../support/upstream.ts';
import { startOnly, startStill } from '../support/scene.ts';

const busyFor = (retryAfter: string): Script =>
  error(429, 'slow down', null, { 'retry-after': retryAfter });

test.each([
  ['local', 500],
  ['local', 502],
  ['hosted_a', 500],
  ['hosted_a', 502],
  ['ondemand', 500],
] as const)(
  'a lone error from %s (%i) is retried after 50 to 200 ms, and leaves no fallback reason if it is served then',
  async (upstream, status) => {
    const { url, clock, only } = await startOnly(upstream, [
      error(status),
      answers('on the second try'),
    ]);
    const pending = chatStream(url);
    clock.advance(await clock.timer(50, 200));
    const answer = await pending;
    expectServed(answer, upstream);
    expect(textOf(answer.text)).toBe('on the second try');
    const [first, second] = only.calls;
    expect(second?.body).toEqual(first?.body);
    expect(second?.headerNames).toEqual(first?.headerNames);
  },
);

test.each(['hosted_a', 'ondemand'] as const)(
  'a short Retry-After from %s is waited out, and leaves no fallback reason if it is served then',
  async (upstream) => {
    const { url, clock } = await startOnly(upstream, [busyFor('2'), answers('after the wait')]);
    const pending = chatStream(url);
    clock.advance(await clock.timer(2000, 2000));
    const answer = await pending;
    expectServed(answer, upstream);
    expect(textOf(answer.text)).toBe('after the wait');
  },
);

test.each([
  ['retry-after-ms', '350', 350],
  ['retry-after', 'Thu, 01 Jan 2026 00:00:01 GMT', 1000],
  ['retry-after', '0', 0],
])('a short Retry-After in %s: %s is read as %i ms', async (name, value, ms) => {
  const { gateway, clock } = await startStill({
    a: [error(429, 'no', null, { [name]: value }), answers('later')],
  });
  const pending = chatStream(gateway.url);
  clock.advance(await clock.timer(ms, ms));
  expectServed(await pending, 'hosted_a');
});

test('a short Retry-After is waited out up to RETRY_AFTER_MAX_MS', async () => {
  const { gateway } = await startStill(
    { a: [busyFor('1'), answers('never')], b: answers('from b') },
    { RETRY_AFTER_MAX_MS: '999' },
  );
  expect(await chatStream(gateway.url)).toMatchObject({ reason: 'hosted_a=rate_limited' });
});

test('a request does not wait out a short Retry-After for a quota, because money does not come back in a second', async () => {
  const spent = error(429, 'no', 'insufficient_quota', { 'retry-after': '1' });
  const { gateway, a } = await startStill({ a: [spent, answers('never')], b: answers('from b') });
  expect(await chatStream(gateway.url)).toMatchObject({ reason: 'hosted_a=quota' });
  expect(a.calls).toHaveLength(1);
});

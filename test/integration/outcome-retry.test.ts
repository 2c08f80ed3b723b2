import { expect, test, vi } from 'vitest';
import { UsageMeter } from '../../main/gateway/protocols/tokens.ts';
import { PendingCall } from '../../main/gateway/upstream/exchange.ts';
import { chat, chatStream, expectServed, textOf } from '../support/client.ts';
import { answers, error, json, type Script } from '../support/upstream.ts';
import { expectAtRest, startOnly, startStill } from '../support/scene.ts';
import { nextPause, pollUntil } from '../support/polling.ts';
import { worded, wordOf } from '../support/words.ts';
import { counted } from '../support/report.ts';

test.each([
  ['local', 500],
  ['local', 502],
  ['hosted_a', 500],
  ['hosted_a', 502],
  ['ondemand', 500],
] as const)(
  'a lone error from %s (%i) is retried after 50 to 200 ms, and leaves no fallback reason if it is served then',
  async (upstream, status) => {
    const scripts = [error(status), answers('on the second try')];
    const { url, clock, only } = await startOnly(upstream, scripts);
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

test.each([
  ['hosted_a', 'retry-after', '2', 2000],
  ['ondemand', 'retry-after', '2', 2000],
  ['hosted_a', 'retry-after-ms', '350', 350],
  ['hosted_a', 'retry-after', 'Thu, 01 Jan 2026 00:00:01 GMT', 1000],
  ['hosted_a', 'retry-after', '0', 0],
] as const)(
  'a short Retry-After from %s (%s: %s) is waited out for %i ms, and leaves no fallback reason if it is served then',
  async (upstream, name, value, ms) => {
    const busy = error(429, 'slow down', null, { [name]: value });
    const { url, clock } = await startOnly(upstream, [busy, answers('after the wait')]);
    const pending = chatStream(url);
    clock.advance(await clock.timer(ms, ms));
    const answer = await pending;
    expectServed(answer, upstream);
    expect(textOf(answer.text)).toBe('after the wait');
  },
);

test('a short Retry-After is waited out up to RETRY_AFTER_MAX_MS', async () => {
  const busy = error(429, 'slow down', null, { 'retry-after': '1' });
  const scripts = { a: [busy, answers('never')], b: answers('from b') };
  const { gateway } = await startStill(scripts, { RETRY_AFTER_MAX_MS: '999' });
  expect(await chatStream(gateway.url)).toMatchObject({ reason: 'hosted_a=rate_limited' });
});

test('a request does not wait out a short Retry-After for a quota, because money does not come back in a second', async () => {
  const spent = error(429, 'no', 'insufficient_quota', { 'retry-after': '1' });
  const { gateway, a } = await startStill({ a: [spent, answers('never')], b: answers('from b') });
  expect(await chatStream(gateway.url)).toMatchObject({ reason: 'hosted_a=quota' });
  expect(a.calls).toHaveLength(1);
});

/** Answers with which a machine that is starting puts one off. */
const STARTING: readonly (readonly [says: string, Script])[] = [
  ['502', error(502)],
  ['503', error(503)],
  ['503 with Retry-After', error(503, 'no', null, { 'retry-after': '1' })],
  ['504', error(504)],
  ['503 that says loading', json(503, { error: { message: 'Loading model', code: 503 } })],
  ['429 that says busy', error(429, 'server busy')],
];

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

test.each(STARTING)(
  'an ondemand that is starting (%s) is polled until it serves, without a fallback reason',
  async (_says, script) => {
    const { gateway, ondemand, clock } = await startStill({
      ondemand: [script, script, script, answers('awake')],
    });
    const answer = chatStream(gateway.url);
    await pollUntil(answer, clock);
    expectServed(await answer, 'ondemand');
    expect(textOf((await answer).text)).toBe('awake');
    expect(ondemand.calls).toHaveLength(4);
    const [first, ...others] = ondemand.calls;
    for (const call of others) expect(call.body).toEqual(first?.body);
    expect(await counted(gateway, 'ondemand')).toEqual({ fails: 0, successes: 1 });
  },
);

test.each(STARTING)(
  'an ondemand that is starting (%s) for its whole timeout is a 504',
  async (_says, script) => {
    const { gateway, ondemand, clock } = await startStill(
      { ondemand: script },
      { ONDEMAND_TIMEOUT_MS: '32500', KEEP_ALIVE_MS: '0' },
    );
    const answer = chat(gateway.url);
    const pauses = await pollUntil(answer, clock);
    const last = ['ondemand', 'timeout (no answer in time)'] as const;
    expect(wordOf(await answer)).toEqual(worded({ status: 504, code: 'upstream_timeout', last }));
    // The last poll comes just before the end.
    expect(sum(pauses)).toBe(31_750);
    expect(ondemand.calls).toHaveLength(pauses.length + 1);
    // One request, however often it was polled.
    const { status, requests } = gateway.host.snapshot();
    expect(status.stats.perUpstream['ondemand']).toMatchObject({ requests: 1, fails: 1 });
    expect(requests[0]).toMatchObject({ attemptCount: 1, attempts: [{ polls: pauses.length }] });
    expect(await counted(gateway, 'ondemand')).toEqual({ fails: 1, successes: 0 });
  },
);

test('an ondemand that refuses after its start is left for that reason', async () => {
  const { gateway, clock } = await startStill({ ondemand: [error(503), error(401)] });
  const answer = chat(gateway.url);
  await pollUntil(answer, clock);
  const last = ['ondemand', 'credentials (HTTP 401)'] as const;
  expect(wordOf(await answer)).toEqual(worded({ status: 502, code: 'upstream_credentials', last }));
});

test('an ondemand that refuses connections once it was reached has scaled down, and is polled until it is back', async () => {
  const { gateway, ondemand, clock } = await startStill({ ondemand: answers('here') });
  await chatStream(gateway.url);
  await ondemand.close();
  const answer = chatStream(gateway.url);
  const pause = await nextPause(clock);
  expect(gateway.host.snapshot().status.ondemand_warmup).toBe('warming');
  await ondemand.reopen();
  clock.advance(pause);
  await pollUntil(answer, clock);
  expectServed(await answer, 'ondemand');
  expect(gateway.host.snapshot().status.ondemand_warmup).toBe('ready');
});

test.each([
  ['sent', () => vi.spyOn(PendingCall.prototype, 'send')],
  ['relayed', () => vi.spyOn(UsageMeter.prototype, 'sent')],
  ['counted', () => vi.spyOn(UsageMeter.prototype, 'spent')],
])(
  'a fault while the first call after a cool-down is %s ends its request, and the next one makes that call',
  async (_what, spyOn) => {
    const scripts = { a: [error(503), answers('well')], b: error(503) };
    const settings = { FAIL_THRESHOLD: '1', COOLDOWN_MS: '10000' };
    const { gateway, clock } = await startStill(scripts, settings);
    await chat(gateway.url);
    clock.advance(10_000);
    spyOn().mockImplementationOnce(() => expect.unreachable('a fault'));
    await chatStream(gateway.url).catch(() => null);
    await expectAtRest(gateway);
    expectServed(await chatStream(gateway.url), 'hosted_a');
  },
);

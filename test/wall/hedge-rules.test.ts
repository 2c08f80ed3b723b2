import { describe, expect, test } from 'vitest';
import { chat, HELLO, startChat } from '../support/client.ts';
import {
  attemptsOf,
  callsOf,
  expectAtRest,
  grantHedges,
  LINE_MS,
  startCourse,
  STREAM,
} from '../support/hedging.ts';
import { turns } from '../support/report.ts';
import {
  answers,
  chunk,
  DONE,
  error,
  hang,
  stall,
  STOP,
  type Script,
} from '../support/upstream.ts';

const DEAD = error(503);
/** Leaves the circuit as it is, and the next one is asked. */
const TOO_LONG = error(400, 'the prompt is too long');
const MINUTE_MS = 60_000;

describe('HEDGE', () => {
  test.each([
    ['own, which is the default', {}],
    ['off', { HEDGE: 'off' }],
  ])('(%s) sends nothing out of the house because local is slow', async (_law, settings) => {
    const paid = answers('never asked');
    const course = await startCourse({ local: hang, hosted_a: paid, ondemand: paid }, settings);
    const { up, clock, url } = course;
    const pending = startChat(url, STREAM);
    const call = await up.local.call(1);
    clock.advance(4 * LINE_MS);
    await turns(course);
    expect(callsOf(up)).toEqual({ local: 1, hosted_a: 0, ondemand: 0 });
    await answers('from local')(call);
    expect(await pending.answer).toMatchObject({ upstream: 'local', reason: 'none' });
  });

  test('(own) is among paid ones once local has failed', async () => {
    const course = await startCourse({ local: DEAD, hosted_a: hang, hosted_b: answers('from b') });
    const pending = startChat(course.url, STREAM);
    await course.up.hosted_a.call(1);
    course.clock.advance(LINE_MS);
    expect(await pending.answer).toMatchObject({
      upstream: 'hosted_b',
      reason: 'local=http_503; hosted_a=outrun',
    });
  });

  test('(off) is not among paid ones either', async () => {
    const course = await startCourse(
      { hosted_a: hang, hosted_b: answers('never asked') },
      { HEDGE: 'off' },
    );
    const pending = startChat(course.url, STREAM);
    const call = await course.up.hosted_a.call(1);
    course.clock.advance(4 * LINE_MS);
    await turns(course);
    expect(course.up.hosted_b.calls).toHaveLength(0);
    await answers('from a')(call);
    expect(await pending.answer).toMatchObject({ upstream: 'hosted_a', reason: 'none' });
  });

  test('(all) asks a paid one beside a slow local, and says so', async () => {
    const course = await startCourse(
      { local: hang, hosted_a: answers('from a') },
      { HEDGE: 'all' },
    );
    const pending = startChat(course.url, STREAM);
    const call = await course.up.local.call(1);
    course.clock.advance(LINE_MS);
    expect(await pending.answer).toMatchObject({ upstream: 'hosted_a', reason: 'local=outrun' });
    await call.gone;
    await expectAtRest(course);
    expect(attemptsOf(course)).toEqual([
      ['local', 'turn', 'outrun'],
      ['hosted_a', 'hedge', null],
    ]);
  });

  test.each([
    ['by its header', { 'x-gateway-force-zero': '1' }, {}],
    ['by the setting', {}, { FORCE_ZERO: 'true' }],
  ])('(all) never spends where nothing may be spent, %s', async (_how, headers, settings) => {
    const course = await startCourse(
      { local: hang, hosted_a: answers('never asked') },
      { HEDGE: 'all', ...settings },
    );
    const pending = startChat(course.url, STREAM, headers);
    const call = await course.up.local.call(1);
    course.clock.advance(4 * LINE_MS);
    await turns(course);
    expect(course.up.hosted_a.calls).toHaveLength(0);
    await answers('from local')(call);
    expect(await pending.answer).toMatchObject({ upstream: 'local', reason: 'none' });
  });
});

/** Three upstreams of which the second has failed once, and so is out. */
async function startWithOneOut(second: Script = DEAD) {
  const course = await startCourse(
    { hosted_a: [TOO_LONG, hang], hosted_b: [second, hang], hosted_c: answers('from c') },
    { FAIL_THRESHOLD: '1', COOLDOWN_MS: String(MINUTE_MS) },
  );
  await chat(course.url);
  return course;
}

describe('a hedge', () => {
  test.each([
    ['whose circuit is open', DEAD, MINUTE_MS - LINE_MS - 1],
    ['whose circuit is half-open', DEAD, MINUTE_MS],
    ['that is rate limited', error(429, 'no', null, { 'retry-after': '60' }), 0],
  ])('passes by one %s', async (_state, second, passedMs) => {
    const course = await startWithOneOut(second);
    const { up, clock, url } = course;
    const before = (await course.status()).circuits['hosted_b'];
    clock.advance(passedMs);
    const pending = startChat(url, STREAM);
    await up.hosted_a.call(2);
    clock.advance(LINE_MS);
    expect(await pending.answer).toMatchObject({ upstream: 'hosted_c', reason: 'hosted_a=outrun' });
    expect(up.hosted_b.calls).toHaveLength(1);
    const after = (await course.status()).circuits['hosted_b'];
    expect(after?.open).toBe(before?.open);
  });

  test('leaves a half-open one its turn: it is asked as the probe when that has come', async () => {
    const course = await startWithOneOut();
    const { up, clock, url } = course;
    clock.advance(MINUTE_MS);
    up.hosted_c.script = DEAD;
    const pending = startChat(url, STREAM);
    const slow = await up.hosted_a.call(2);
    clock.advance(LINE_MS);
    await up.hosted_c.call(2);
    await turns(course);
    expect(up.hosted_b.calls).toHaveLength(1);
    await TOO_LONG(slow);
    await answers('from b')(await up.hosted_b.call(2));
    // In routing order, so that the one after it goes unnamed.
    expect(await pending.answer).toMatchObject({
      upstream: 'hosted_b',
      reason: 'hosted_a=context_length',
    });
    expect((await course.status()).circuits['hosted_b']).toMatchObject({ open: false });
    expect(attemptsOf(course).map(([id, cause]) => `${id} ${cause}`)).toEqual([
      'hosted_a turn',
      'hosted_c hedge',
      'hosted_b turn',
    ]);
  });

  test('is not sent where no upstream is well', async () => {
    const course = await startCourse(
      { hosted_a: [TOO_LONG, hang], hosted_b: DEAD },
      { FAIL_THRESHOLD: '1', COOLDOWN_MS: String(MINUTE_MS) },
    );
    const { up, clock, url } = course;
    await chat(url);
    clock.advance(MINUTE_MS);
    const pending = startChat(url, STREAM);
    const slow = await up.hosted_a.call(2);
    clock.advance(3 * LINE_MS);
    await turns(course);
    expect(up.hosted_b.calls).toHaveLength(1);
    await answers('from a')(slow);
    expect(await pending.answer).toMatchObject({ upstream: 'hosted_a', reason: 'none' });
  });
});

describe('a probe', () => {
  test('that is slow loses its hedge as any other, and is not sent again before another cool-down', async () => {
    const course = await startCourse(
      { hosted_a: [DEAD, hang], hosted_b: answers('from b') },
      { FAIL_THRESHOLD: '1', COOLDOWN_MS: String(MINUTE_MS) },
    );
    const { up, clock, url } = course;
    await chat(url);
    clock.advance(MINUTE_MS);
    const pending = startChat(url, STREAM);
    await up.hosted_a.call(2);
    clock.advance(LINE_MS);
    expect(await pending.answer).toMatchObject({ upstream: 'hosted_b', reason: 'hosted_a=outrun' });
    // Nothing has failed, but somebody has waited for it.
    expect((await course.status()).circuits['hosted_a']).toMatchObject({
      open: true,
      cooldownRemainingMs: 2 * MINUTE_MS,
      fails: 1,
    });
    up.hosted_a.script = answers('well again');
    expect(await chat(url)).toMatchObject({ reason: 'hosted_a=circuit_open' });
    clock.advance(2 * MINUTE_MS);
    expect(await chat(url, { ...HELLO, model: 'm2' })).toMatchObject({ reason: 'none' });
    expect((await course.status()).circuits['hosted_a']).toMatchObject({ open: false });
  });
});

describe('the circuit', () => {
  test('of the slow one counts it slow, and opens as for slow answers', async () => {
    const course = await startCourse({ hosted_a: hang, hosted_b: answers('from b') });
    const { up, clock, url } = course;
    for (let n = 1; n <= 3; n += 1) {
      const pending = startChat(url, STREAM);
      await up.hosted_a.call(n);
      clock.advance(LINE_MS);
      expect(await pending.answer).toMatchObject({ reason: 'hosted_a=outrun' });
      expect((await course.status()).circuits['hosted_a']).toMatchObject({
        fails: 0,
        successes: 0,
        consecutiveSlow: n,
        open: n === 3,
        ewmaTtft: LINE_MS,
        lastTtftMs: null,
      });
    }
    expect(await chat(url)).toMatchObject({
      upstream: 'hosted_b',
      reason: 'hosted_a=circuit_open',
    });
    expect((await course.status()).circuits['hosted_b']).toMatchObject({
      fails: 0,
      successes: 4,
      consecutiveSlow: 0,
    });
    await expectAtRest(course);
  });

  test('of the slow one has its mean raised by what it took at least, never lowered', async () => {
    const course = await startCourse({ hosted_a: stall(), hosted_b: hang });
    const { up, clock, url } = course;
    const first = startChat(url, STREAM);
    const slow = await up.hosted_a.call(1);
    await turns(course);
    clock.advance(LINE_MS);
    const hedge = await up.hosted_b.call(1);
    clock.advance(LINE_MS);
    slow.res.end(chunk({ content: 'a' }) + STOP + DONE);
    await first.answer;
    // The hedge was silent for as long as a slow one.
    expect((await course.status()).circuits).toMatchObject({
      hosted_a: { ewmaTtft: 2 * LINE_MS, consecutiveSlow: 1, successes: 1 },
      hosted_b: { ewmaTtft: LINE_MS, consecutiveSlow: 1, successes: 0, fails: 0 },
    });
    await hedge.gone;
    const second = startChat(url, STREAM);
    await up.hosted_a.call(2);
    clock.advance(LINE_MS);
    await answers('from b')(await up.hosted_b.call(2));
    await second.answer;
    expect((await course.status()).circuits['hosted_a']).toMatchObject({
      ewmaTtft: 2 * LINE_MS,
      consecutiveSlow: 2,
    });
  });

  test('of a call that lost its hedge before it was slow counts nothing as slow', async () => {
    const course = await startCourse({ hosted_a: hang, hosted_b: hang });
    const { up, clock, url } = course;
    const pending = startChat(url, STREAM);
    const slow = await up.hosted_a.call(1);
    clock.advance(LINE_MS);
    await up.hosted_b.call(1);
    clock.advance(LINE_MS - 1);
    await answers('from a')(slow);
    await pending.answer;
    expect((await course.status()).circuits['hosted_b']).toMatchObject({
      consecutiveSlow: 0,
      fails: 0,
      successes: 0,
    });
  });
});

test('each call that was sent is counted, and each hedge', async () => {
  const course = await startCourse({ hosted_a: hang, hosted_b: DEAD, hosted_c: answers('from c') });
  const { up, clock, url } = course;
  await grantHedges(course, 1);
  const pending = startChat(url, STREAM);
  await up.hosted_a.call(1);
  clock.advance(LINE_MS);
  await up.hosted_b.call(1);
  await turns(course);
  clock.advance(0);
  await pending.answer;
  const { stats } = await course.status();
  const requests = Object.values(stats.perUpstream).map((each) => each.requests);
  expect(requests).toEqual([0, 1, 1, 1, 0]);
  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(metrics).toMatch(/hedges\S* 2\n/);
});

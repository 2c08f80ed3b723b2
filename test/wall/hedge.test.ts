import { describe, expect, test } from 'vitest';
import { AT_ONCE_MS, fastest, millisecondsUntil } from '../support/at-once.ts';
import { startChat, textOf } from '../support/client.ts';
import {
  attemptsOf,
  callsOf,
  expectAtRest,
  grantHedges,
  LINE_MS,
  PLAIN,
  startCourse,
  STREAM,
} from '../support/hedging.ts';
import { turns } from '../support/report.ts';
import { answers, chunk, cut, DONE, error, hang, ROLE, stall, STOP } from '../support/upstream.ts';

const A = chunk({ content: 'a' });
const REST = STOP + DONE;

describe.each([
  ['a stream', STREAM],
  ['a plain answer', PLAIN],
])('for a caller of %s', (_caller, body) => {
  test('nothing is started before the line, and at the line exactly one', async () => {
    const course = await startCourse({ hosted_a: hang, hosted_b: hang, hosted_c: hang });
    const { up, clock, url } = course;
    const pending = startChat(url, body);
    await up.hosted_a.call(1);
    clock.advance(LINE_MS - 1);
    await turns(course);
    expect(callsOf(up)).toEqual({ hosted_a: 1, hosted_b: 0, hosted_c: 0 });
    clock.advance(1);
    const hedge = await up.hosted_b.call(1);
    // Two are as many as there may be, however slow both are.
    clock.advance(3 * LINE_MS);
    await turns(course);
    expect(callsOf(up)).toEqual({ hosted_a: 1, hosted_b: 1, hosted_c: 0 });
    await answers('from b')(hedge);
    expect(await pending.answer).toMatchObject({ status: 200, upstream: 'hosted_b' });
  });

  test('one that answers before the line is alone', async () => {
    const course = await startCourse({ hosted_a: hang, hosted_b: answers('never asked') });
    const pending = startChat(course.url, body);
    const call = await course.up.hosted_a.call(1);
    course.clock.advance(LINE_MS - 1);
    await answers('from a')(call);
    expect(await pending.answer).toMatchObject({ upstream: 'hosted_a', reason: 'none' });
    course.clock.advance(LINE_MS);
    await turns(course);
    expect(course.up.hosted_b.calls).toHaveLength(0);
    expect(attemptsOf(course)).toEqual([['hosted_a', 'turn', null]]);
  });

  test('the slow one wins where its content is first, and the hedge is ended at once', async () => {
    const course = await startCourse({ hosted_a: hang, hosted_b: hang });
    const { up, clock, url } = course;
    const took = await fastest(async () => {
      const n = up.hosted_a.calls.length + 1;
      const pending = startChat(url, body);
      const call = await up.hosted_a.call(n);
      clock.advance(LINE_MS);
      const hedge = await up.hosted_b.call(n);
      await answers('from a')(call);
      const ms = await millisecondsUntil(hedge.gone);
      const answer = await pending.answer;
      expect(answer).toMatchObject({ status: 200, upstream: 'hosted_a', reason: 'none' });
      expect(answer.text).toContain('from');
      expect(answer.text).not.toContain('error');
      return ms;
    });
    expect(took).toBeLessThan(AT_ONCE_MS);
    await expectAtRest(course);
    expect(attemptsOf(course)).toEqual([
      ['hosted_a', 'turn', null],
      ['hosted_b', 'hedge', 'outrun'],
    ]);
    const { circuits } = await course.status();
    expect(circuits['hosted_a']).toMatchObject({ fails: 0, successes: up.hosted_a.calls.length });
    expect(circuits['hosted_b']).toMatchObject({ fails: 0, successes: 0, consecutiveSlow: 0 });
  });

  test('the hedge wins where its content is first, and the slow one is ended at once', async () => {
    const course = await startCourse({ hosted_a: hang, hosted_b: hang });
    const { up, clock, url } = course;
    const took = await fastest(async () => {
      const n = up.hosted_b.calls.length + 1;
      const pending = startChat(url, body);
      const call = await up.hosted_a.call(n);
      clock.advance(LINE_MS);
      await answers('from b')(await up.hosted_b.call(n));
      const ms = await millisecondsUntil(call.gone);
      const answer = await pending.answer;
      expect(answer).toMatchObject({ upstream: 'hosted_b', reason: 'hosted_a=outrun' });
      return ms;
    });
    expect(took).toBeLessThan(AT_ONCE_MS);
    await expectAtRest(course);
    expect(attemptsOf(course)).toEqual([
      ['hosted_a', 'turn', 'outrun'],
      ['hosted_b', 'hedge', null],
    ]);
  });

  test('two answers at once are one answer, and the other counts for nothing', async () => {
    const course = await startCourse({ hosted_a: hang, hosted_b: hang });
    const { up, clock, url } = course;
    const pending = startChat(url, body);
    const first = await up.hosted_a.call(1);
    clock.advance(LINE_MS);
    const second = await up.hosted_b.call(1);
    for (const [name, { res }] of Object.entries({ first, second })) {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write(ROLE + chunk({ content: name }));
    }
    const [winner, loser] = await Promise.race([
      second.gone.then(() => [first, 'hosted_b'] as const),
      first.gone.then(() => [second, 'hosted_a'] as const),
    ]);
    winner.res.end(REST);
    const answer = await pending.answer;
    expect(answer.text.includes('first')).toBe(winner === first);
    expect(answer.text.includes('second')).toBe(winner === second);
    await expectAtRest(course);
    expect((await course.status()).circuits[loser]).toMatchObject({ fails: 0, successes: 0 });
  });
});

test('events without content are none: the line is passed all the same, and they do not win', async () => {
  const silent = stall(ROLE, ': waiting\n\n', chunk({ content: '' }));
  const course = await startCourse({ hosted_a: silent, hosted_b: silent });
  const { up, clock, url } = course;
  const pending = startChat(url, STREAM);
  const first = await up.hosted_a.call(1);
  await turns(course);
  clock.advance(LINE_MS);
  const second = await up.hosted_b.call(1);
  await turns(course);
  expect([first.socket.destroyed, second.socket.destroyed]).toEqual([false, false]);
  second.res.end(A + REST);
  const answer = await pending.answer;
  expect(answer).toMatchObject({ upstream: 'hosted_b', reason: 'hosted_a=outrun' });
  // What came before the content comes along.
  expect(answer.text).toBe(ROLE + ': waiting\n\n' + chunk({ content: '' }) + A + REST);
  await first.gone;
});

describe('an answer that is put together', () => {
  test('wins by its first content, although it is sent when it is whole', async () => {
    const course = await startCourse({ hosted_a: stall(ROLE), hosted_b: stall(ROLE) });
    const { up, clock, url } = course;
    const pending = startChat(url, PLAIN);
    const first = await up.hosted_a.call(1);
    clock.advance(LINE_MS);
    const second = await up.hosted_b.call(1);
    second.res.write(A);
    await first.gone;
    // So long as it goes on it may take its time; nobody else is started beside it.
    clock.advance(2 * LINE_MS);
    second.res.end(chunk({ content: 'b' }) + REST);
    const answer = await pending.answer;
    expect(answer).toMatchObject({ upstream: 'hosted_b', reason: 'hosted_a=outrun' });
    expect(JSON.parse(answer.text)).toMatchObject({ choices: [{ message: { content: 'ab' } }] });
    expect(callsOf(up)).toEqual({ hosted_a: 1, hosted_b: 1 });
  });

  test('whose content came before the hedge delay is not hedged, however long it takes', async () => {
    const course = await startCourse({ hosted_a: stall(ROLE, A), hosted_b: answers('never') });
    const { up, clock, url } = course;
    const pending = startChat(url, PLAIN);
    const { res } = await up.hosted_a.call(1);
    await turns(course);
    for (let word = 0; word < 3; word += 1) {
      clock.advance(LINE_MS);
      res.write(A);
      await turns(course);
    }
    res.end(REST);
    expect(await pending.answer).toMatchObject({ upstream: 'hosted_a', reason: 'none' });
    expect(up.hosted_b.calls).toHaveLength(0);
  });

  test('that wins and then breaks is passed over for the next one; none is called twice', async () => {
    const course = await startCourse({
      hosted_a: hang,
      hosted_b: cut(ROLE, A),
      hosted_c: answers('from c'),
    });
    const { up, clock, url } = course;
    const pending = startChat(url, PLAIN);
    await up.hosted_a.call(1);
    clock.advance(LINE_MS);
    const answer = await pending.answer;
    expect(answer).toMatchObject({
      status: 200,
      upstream: 'hosted_c',
      reason: 'hosted_a=outrun; hosted_b=bad_response',
    });
    expect(callsOf(up)).toEqual({ hosted_a: 1, hosted_b: 1, hosted_c: 1 });
  });
});

describe('an answer that comes as a whole', () => {
  test.each([
    ['with assembly switched off', PLAIN, { HOSTED_A_ASSEMBLE: 'false' }],
    ['of several choices', { ...PLAIN, n: 2 }, {}],
  ])('(%s) is never taken for slow', async (_why, body, settings) => {
    const course = await startCourse({ hosted_a: hang, hosted_b: answers('never') }, settings);
    const { up, clock, url } = course;
    const pending = startChat(url, body);
    const call = await up.hosted_a.call(1);
    clock.advance(4 * LINE_MS);
    await turns(course);
    expect(up.hosted_b.calls).toHaveLength(0);
    await answers('from a')(call);
    expect(await pending.answer).toMatchObject({ upstream: 'hosted_a', reason: 'none' });
  });

  test('may win as a hedge', async () => {
    const settings = { HOSTED_B_ASSEMBLE: 'false' };
    const course = await startCourse({ hosted_a: hang, hosted_b: answers('from b') }, settings);
    const pending = startChat(course.url, PLAIN);
    const { gone } = await course.up.hosted_a.call(1);
    course.clock.advance(LINE_MS);
    expect(await pending.answer).toMatchObject({ upstream: 'hosted_b', reason: 'hosted_a=outrun' });
    await gone;
  });

  test('that loses as a hedge was not slow', async () => {
    const course = await startCourse(
      { hosted_a: hang, hosted_b: hang },
      { HOSTED_B_ASSEMBLE: 'false' },
    );
    const { up, clock, url } = course;
    const pending = startChat(url, PLAIN);
    const call = await up.hosted_a.call(1);
    clock.advance(LINE_MS);
    await up.hosted_b.call(1);
    clock.advance(LINE_MS);
    await answers('from a')(call);
    await pending.answer;
    const { circuits } = await course.status();
    expect(circuits['hosted_b']).toMatchObject({ consecutiveSlow: 0, ewmaTtft: null });
  });

  test('and is left alone as a hedge is not taken for slow either', async () => {
    const course = await startCourse(
      { hosted_a: hang, hosted_b: hang, hosted_c: answers('never') },
      { HOSTED_B_ASSEMBLE: 'false' },
    );
    const { up, clock, url } = course;
    await grantHedges(course, 2);
    const pending = startChat(url, PLAIN);
    const call = await up.hosted_a.call(1);
    clock.advance(LINE_MS);
    const whole = await up.hosted_b.call(1);
    await error(503)(call);
    await turns(course);
    clock.advance(3 * LINE_MS);
    await turns(course);
    await answers('from b')(whole);
    expect(await pending.answer).toMatchObject({ reason: 'hosted_a=http_503' });
    expect(up.hosted_c.calls).toHaveLength(0);
  });
});

describe('the line', () => {
  test('is the threshold of the circuits unless set', async () => {
    const settings = { TTFT_THRESHOLD_MS: '700' };
    const course = await startCourse({ hosted_a: hang, hosted_b: answers('from b') }, settings);
    const pending = startChat(course.url, STREAM);
    await course.up.hosted_a.call(1);
    course.clock.advance(699);
    await turns(course);
    expect(course.up.hosted_b.calls).toHaveLength(0);
    course.clock.advance(1);
    expect(await pending.answer).toMatchObject({ upstream: 'hosted_b' });
  });

  test('may be another, and then only the threshold makes a slow one', async () => {
    const settings = { HEDGE_MS: '900' };
    const course = await startCourse({ hosted_a: hang, hosted_b: answers('from b') }, settings);
    const { up, clock, url } = course;
    const pending = startChat(url, STREAM);
    await up.hosted_a.call(1);
    clock.advance(899);
    await turns(course);
    expect(up.hosted_b.calls).toHaveLength(0);
    clock.advance(1);
    expect(await pending.answer).toMatchObject({ reason: 'hosted_a=outrun' });
    const { circuits } = await course.status();
    expect(circuits['hosted_a']).toMatchObject({ consecutiveSlow: 0, ewmaTtft: 900 });
  });

  test('holds for the next request once it is changed, not for one that runs', async () => {
    const course = await startCourse({ hosted_a: hang, hosted_b: answers('from b') });
    const { up, clock, url } = course;
    const [before] = [startChat(url, STREAM), await up.hosted_a.call(1)];
    await course.set({ routing: { hedgeMs: 100 } });
    clock.advance(LINE_MS - 1);
    await turns(course);
    expect(up.hosted_b.calls).toHaveLength(0);
    clock.advance(1);
    await before.answer;
    const [after] = [startChat(url, STREAM), await up.hosted_a.call(2)];
    clock.advance(100);
    expect(await after.answer).toMatchObject({ upstream: 'hosted_b', reason: 'hosted_a=outrun' });
    await course.set({ routing: { hedge: 'off' } });
    const [last, call] = [startChat(url, STREAM), await up.hosted_a.call(3)];
    clock.advance(LINE_MS);
    await turns(course);
    expect(up.hosted_b.calls).toHaveLength(2);
    await answers('from a')(call);
    expect(await last.answer).toMatchObject({ upstream: 'hosted_a', reason: 'none' });
  });
});

test('the record says when each was started and when its content came', async () => {
  const course = await startCourse({ hosted_a: hang, hosted_b: stall(ROLE) });
  const { up, clock, url } = course;
  const pending = startChat(url, STREAM);
  await up.hosted_a.call(1);
  clock.advance(LINE_MS);
  const { res } = await up.hosted_b.call(1);
  clock.advance(300);
  res.write(A);
  await pending.received('"a"');
  clock.advance(1000);
  res.end(REST);
  expect(textOf((await pending.answer).text)).toBe('a');
  await expectAtRest(course);
  const [row] = course.host.snapshot().requests;
  expect(row).toMatchObject({ state: 'done', upstream: 'hosted_b', attemptCount: 2 });
  const [slow, hedge] = row?.attempts ?? [];
  expect(slow).toMatchObject({ startMs: 0, firstContentMs: null, endMs: 5300, predictedMs: null });
  expect(hedge).toMatchObject({ startMs: 5000, firstContentMs: 5300, endMs: 6300 });
});

import { describe, expect, test } from 'vitest';
import { chat, startChat } from '../support/client.ts';
import { createManualClock } from '../support/clock.ts';
import { startControlled } from '../support/control.ts';
import {
  attemptsOf,
  callsOf,
  grantHedges,
  LINE_MS,
  PLAIN,
  startCourse,
  STREAM,
  type Course,
} from '../support/hedging.ts';
import { turns } from '../support/report.ts';
import { answers, chunk, error, hang, ROLE, stall, startUpstream } from '../support/upstream.ts';
import { at } from '../support/words.ts';

type Pair = Course<'hosted_a' | 'hosted_b'>;

/** A pair of upstreams of which one is silent, with the budget that nobody set; one hedge is always allowed. */
async function startPair(settings: Readonly<Record<string, string>> = {}): Promise<Pair> {
  const clock = createManualClock();
  const up = { hosted_a: await startUpstream(hang), hosted_b: await startUpstream(answers('b')) };
  const controlled = await startControlled(
    {
      ...at({ hosted_a: up.hosted_a.url, hosted_b: up.hosted_b.url }),
      TTFT_SLOW_THRESHOLD: '1',
      ...settings,
    },
    clock,
  );
  return { ...controlled, clock, up };
}

/**
 * Whether a request whose upstream is silent for three lines is hedged; it is answered in the end, and the
 * circuit that opens for it is closed again.
 */
async function isHedged(course: Pair): Promise<boolean> {
  const { up, clock, url } = course;
  const before = up.hosted_b.calls.length;
  const pending = startChat(url, STREAM);
  const slow = await up.hosted_a.call(up.hosted_a.calls.length + 1);
  clock.advance(LINE_MS);
  await turns(course);
  clock.advance(2 * LINE_MS);
  await turns(course);
  const hedged = up.hosted_b.calls.length > before;
  if (!hedged) await answers('late')(slow);
  expect(await pending.answer).toMatchObject({
    status: 200,
    upstream: hedged ? 'hosted_b' : 'hosted_a',
    reason: hedged ? 'hosted_a=outrun' : 'none',
  });
  expect((await course.post('circuits/hosted_a/reset')).status).toBe(200);
  return hedged;
}

test('the first request may be hedged; the next is waited for, until one in twenty has been', async () => {
  const course = await startPair();
  expect(await isHedged(course)).toBe(true);
  expect(await isHedged(course)).toBe(false);
  await grantHedges(course, 36);
  expect(await isHedged(course)).toBe(false);
  // The fortieth: two of them are 5 %.
  expect(await isHedged(course)).toBe(true);
  expect(await isHedged(course)).toBe(false);
});

test('what was spent is forgotten 200 requests later', async () => {
  const course = await startPair({ HEDGE_BUDGET: '0.1' });
  expect(await isHedged(course)).toBe(true);
  await grantHedges(course, 198);
  expect(await isHedged(course)).toBe(false);
  expect(await isHedged(course)).toBe(true);
});

test('a budget of 0 is none at all', async () => {
  const course = await startPair({ HEDGE_BUDGET: '0' });
  await grantHedges(course, 50);
  expect(await isHedged(course)).toBe(false);
});

test('one that is changed holds for the next request', async () => {
  const course = await startPair();
  await course.set({ routing: { hedgeBudget: 0 } });
  expect(await isHedged(course)).toBe(false);
  await course.set({ routing: { hedgeBudget: 100 } });
  expect(await isHedged(course)).toBe(true);
  expect(await isHedged(course)).toBe(true);
  // What was spent stays spent.
  await course.set({ routing: { hedgeBudget: 5 } });
  expect(await isHedged(course)).toBe(false);
});

test('one that is exhausted leaves the time-out as it was', async () => {
  const course = await startPair({ HEDGE_BUDGET: '0', HOSTED_A_TIMEOUT_MS: '8000' });
  const pending = startChat(course.url, STREAM);
  const slow = await course.up.hosted_a.call(1);
  course.clock.advance(7999);
  await turns(course);
  expect(course.up.hosted_b.calls).toHaveLength(0);
  course.clock.advance(1);
  await slow.gone;
  expect(await pending.answer).toMatchObject({ reason: 'hosted_a=timeout' });
  expect(attemptsOf(course).map(([, cause]) => cause)).toEqual(['turn', 'turn']);
});

test('a third call of one request costs as much as a second', async () => {
  const course = await startCourse(
    { hosted_a: hang, hosted_b: error(503), hosted_c: answers('never asked') },
    { TTFT_SLOW_THRESHOLD: '1' },
  );
  const { up, clock, url } = course;
  const pending = startChat(url, STREAM);
  const slow = await up.hosted_a.call(1);
  clock.advance(LINE_MS);
  await up.hosted_b.call(1);
  await turns(course);
  clock.advance(LINE_MS);
  await turns(course);
  expect(callsOf(up)).toEqual({ hosted_a: 1, hosted_b: 1, hosted_c: 0 });
  await answers('from a')(slow);
  expect(await pending.answer).toMatchObject({ upstream: 'hosted_a', reason: 'none' });
});

test('nothing is spent where no upstream could be called', async () => {
  const course = await startCourse(
    { hosted_a: [error(400, 'the prompt is too long'), hang], hosted_b: error(503) },
    { HEDGE_BUDGET: '5', FAIL_THRESHOLD: '1', TTFT_SLOW_THRESHOLD: '1' },
  );
  await chat(course.url);
  expect(await isHedged(course)).toBe(false);
  await course.post('circuits/hosted_b/reset');
  course.up.hosted_b.script = answers('from b');
  expect(await isHedged(course)).toBe(true);
});

describe('a hosted upstream that hangs', () => {
  /** How long each of seven callers in a row waits, in seconds of the clock. */
  async function waitsOf(course: Pair): Promise<number[]> {
    const { up, clock, url } = course;
    const waits: number[] = [];
    for (let n = 0; n < 7; n += 1) {
      const before = clock.ticks();
      const asked = up.hosted_a.calls.length;
      const pending = startChat(url, STREAM);
      const wait = { isOver: false };
      const answer = pending.answer.finally(() => (wait.isOver = true));
      await turns(course);
      while (!wait.isOver) {
        if (up.hosted_a.calls.length > asked) clock.advance(1000);
        await turns(course);
      }
      expect((await answer).status).toBe(200);
      waits.push((clock.ticks() - before) / 1000);
    }
    return waits;
  }

  test('costs three callers the hedge delay by the defaults, and is open then', async () => {
    const course = await startCourse(
      { hosted_a: hang, hosted_b: answers('b') },
      { HEDGE_BUDGET: '5' },
    );
    expect(await waitsOf(course)).toEqual([5, 5, 5, 0, 0, 0, 0]);
    const { circuits } = await course.status();
    expect(circuits['hosted_a']).toMatchObject({ open: true, fails: 0, consecutiveSlow: 3 });
    expect(course.up.hosted_a.calls).toHaveLength(3);
  });

  test('costs three callers its time-out where it may not be hedged', async () => {
    const course = await startCourse({ hosted_a: hang, hosted_b: answers('b') }, { HEDGE: 'off' });
    expect(await waitsOf(course)).toEqual([30, 30, 30, 0, 0, 0, 0]);
    const { circuits } = await course.status();
    expect(circuits['hosted_a']).toMatchObject({ open: true, fails: 3, consecutiveSlow: 3 });
  });

  test('counts as slow and as failed; a time-out shorter than the hedge delay only as failed', async () => {
    const course = await startCourse(
      { hosted_a: hang, hosted_b: answers('b') },
      { HEDGE: 'off', HOSTED_A_TIMEOUT_MS: '4000' },
    );
    expect(await waitsOf(course)).toEqual([4, 4, 4, 4, 4, 0, 0]);
    const { circuits } = await course.status();
    expect(circuits['hosted_a']).toMatchObject({ open: true, fails: 5, consecutiveSlow: 0 });
  });

  test('in mid-answer was not slow: its first content had come', async () => {
    const course = await startCourse(
      { hosted_a: stall(ROLE, chunk({ content: 'a' })), hosted_b: answers('b') },
      { IDLE_TIMEOUT_MS: '20000' },
    );
    const pending = startChat(course.url, PLAIN);
    await course.up.hosted_a.call(1);
    await turns(course);
    course.clock.advance(20_000);
    expect(await pending.answer).toMatchObject({ reason: 'hosted_a=timeout' });
    const { circuits } = await course.status();
    expect(circuits['hosted_a']).toMatchObject({ fails: 1, consecutiveSlow: 0 });
  });
});

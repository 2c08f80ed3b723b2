import * as rows from './request-builders.ts';
import { expect, test } from 'vitest';
import type { RequestRow } from '#shared/live.ts';
import {
  AXIS_TICKS_MS,
  axisPercent,
  lanesOf,
  marksOf,
  segmentsOf,
} from '../../renderer/features/requests/waterfall.tsx';
import { attempt, request } from './builders.ts';

const kinds = (...args: Parameters<typeof segmentsOf>) =>
  segmentsOf(...args).map(({ kind }) => kind);

test('the time axis starts at zero, grows, and never leaves the picture', () => {
  expect(axisPercent(0)).toBe(0);
  const places = [1, 100, 1_000, 10_000, 100_000, 1e6, 1e9].map(axisPercent);
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  expect(places.at(-1)).toBeCloseTo(100);
  for (const ms of AXIS_TICKS_MS) expect(axisPercent(ms)).toBeLessThan(100);
});

test('the waiting part of a waterfall ends at the first token', () => {
  const row = request('a', { attempts: [attempt({ firstContentMs: 300, endMs: 900 })] });
  const [waiting, answering] = segmentsOf(row, 900);
  expect(waiting).toMatchObject({ kind: 'waiting', left: 0, width: axisPercent(300) });
  expect(answering).toMatchObject({ kind: 'answering', left: axisPercent(300) });
});

test('segments of a waterfall never overlap and never leave the axis, however many and short they are', () => {
  const attempts = Array.from({ length: 16 }, (_, index) =>
    attempt({ startMs: 179_000 + index, endMs: 179_001 + index, reason: 'unreachable' }),
  );
  const segments = segmentsOf(request('a', { attempts }), 180_000);
  for (const [index, { left, width }] of segments.entries()) {
    const before = segments[index - 1] ?? { left: 0, width: 0 };
    expect(left).toBeGreaterThanOrEqual(before.left + before.width - 1e-9);
    expect(width).toBeGreaterThan(0);
    expect(left + width).toBeLessThanOrEqual(100 + 1e-9);
  }
});

test('segments of a waterfall stay where they are while the request runs', () => {
  const row = request('a', {
    state: 'running',
    endMs: null,
    attempts: [
      attempt({ endMs: 400, reason: 'timeout' }),
      attempt({ upstream: 'hosted_a', startMs: 400 }),
    ],
  });
  expect(segmentsOf(row, 9_000)[0]).toEqual(segmentsOf(row, 500)[0]);
  expect(segmentsOf(row, 9_000)[1]?.left).toBe(segmentsOf(row, 500)[1]?.left);
});

test('an answer that broke off does not look complete in a waterfall', () => {
  const attempts = [attempt({ firstContentMs: 5, endMs: 90 })];
  expect(kinds(request('a', { state: 'broken', attempts }), 90)).toEqual(['waiting', 'broken']);
});

test('an answer that stalled and was aborted is shown as answering, then silent, then ended', () => {
  const times = { firstContentMs: 400, lastContentMs: 900, endMs: 8_900 };
  const row = request('a', {
    state: 'broken',
    attempts: [attempt({ ...times, reason: 'bad_response' })],
  });
  expect(kinds(row, 8_900)).toEqual(['waiting', 'answering', 'stalled']);
});

const ELAPSED_MS = 170_000;

test('calls one after the other are on one line of a waterfall', () => {
  expect(lanesOf(rows.sixteen().attempts)).toEqual(Array.from({ length: 16 }, () => 0));
});

test('the upstream that continues an answer is on the other line than what broke off', () => {
  expect(lanesOf(rows.handedOver().attempts)).toEqual([0, 1]);
  expect(lanesOf(rows.hedgedAndHandedOver().attempts)).toEqual([0, 1, 0]);
});

const drawn = (row: RequestRow) => segmentsOf(row, row.endMs ?? ELAPSED_MS);
const marks = (row: RequestRow) => marksOf(row, drawn(row));
const startOf = (row: RequestRow, index: number) =>
  drawn(row).find((segment) => segment.attempt === index)?.left;

test('a hedge is marked where it begins, whichever call came first', () => {
  for (const row of [rows.hedgeWon(), rows.hedgeLost()])
    expect(marks(row)).toEqual([{ kind: 'hedge', attempt: 1, lane: 1, at: startOf(row, 1) }]);
});

test('the call that lost the race is drawn so', () => {
  const laned = (row: RequestRow) => drawn(row).map(({ kind, lane }) => `${lane} ${kind}`);
  expect(laned(rows.hedgeWon())).toEqual(['0 outrun', '1 waiting', '1 answering']);
  expect(laned(rows.hedgeLost())).toEqual(['0 waiting', '0 answering', '1 outrun']);
});

test('a continuation is drawn as a joint where its call begins', () => {
  const row = rows.handedOver();
  expect(marks(row)).toEqual([{ kind: 'handover', attempt: 1, lane: 1, at: startOf(row, 1) }]);
});

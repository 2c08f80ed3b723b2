import * as rows from './request-builders.ts';
import { describe, expect, test } from 'vitest';
import type { AttemptRow } from '#shared/live.ts';
import { FAILURE_REASONS, OUTRUN, SKIP_REASONS } from '#shared/reasons.ts';
import {
  causeText,
  labelsOf,
  outcomeWords,
  resultText,
  storyOf,
  whoOf,
  whyOf,
} from '../../renderer/features/requests/request-text.ts';
import { predicateText } from '../../renderer/text/reason-text.ts';
import { attempt, request, upstream } from './builders.ts';

const labels = labelsOf(
  (['local', 'hosted_a', 'hosted_b', 'hosted_c'] as const).map((id) => upstream(id)),
);
const story = (row: Parameters<typeof storyOf>[0]) => storyOf(row, labels);
const answered = (over: Partial<AttemptRow> = {}) =>
  attempt({ firstContentMs: 300, endMs: 900, ...over });
const running = { state: 'running', endMs: null, upstream: null } as const;

describe('the story of a request', () => {
  test.each([
    ['Local answered', request('a', { attempts: [answered()] })],
    ['Groq was slow; Together answered first', rows.hedgeWon()],
    ['Groq was slow; Together was called as well; Groq answered first', rows.hedgeLost()],
    ['Groq dropped the stream; Together continued the answer', rows.handedOver()],
    [
      'Groq was slow; Together dropped the stream; Hosted C continued the answer',
      rows.hedgedAndHandedOver(),
    ],
    [
      'Local · machine aaaa1111 was slow; Local · machine bbbb2222 answered first',
      rows.hedgedMachine(),
    ],
    [
      'Groq answered HTTP 500; Together answered HTTP 500; Hosted C answered HTTP 500; ondemand answered HTTP 500; no upstream answered',
      rows.sixteen(),
    ],
  ])('the story of a request reads: %s', (sentence, row) => {
    expect(story(row)).toBe(sentence);
  });

  test('the story of a request has its calls in the order in which they happened', () => {
    const attempts = [
      attempt({ upstream: 'hosted_a', endMs: 6_000, reason: 'timeout' }),
      attempt({
        upstream: 'hosted_b',
        cause: 'hedge',
        startMs: 5_000,
        endMs: 5_500,
        reason: 'unreachable',
      }),
    ];
    expect(story(request('a', { state: 'failed', upstream: null, attempts }))).toBe(
      'Groq was slow; Together was unreachable; Groq timed out; no upstream answered',
    );
  });

  test('the story of a request names a machine only where another one was called too', () => {
    const attempts = [
      attempt({ provider: 'prv_aaaa1111', endMs: 6, reason: 'timeout' }),
      answered({ upstream: 'hosted_a' }),
    ];
    expect(story(request('a', { attempts }))).toBe('Local timed out; Groq answered');
  });

  test('the story of a request says which upstreams were skipped, and why', () => {
    const row = request('a', {
      upstream: 'hosted_a',
      fallbackReason: 'local=busy',
      attempts: [answered({ upstream: 'hosted_a' })],
    });
    expect(story(row)).toBe('Local was busy; Groq answered');
  });

  test('the story of a running request says which upstream is being called, and why', () => {
    const slow = attempt({ upstream: 'hosted_a' });
    const hedge = attempt({ upstream: 'hosted_b', cause: 'hedge', startMs: 5_000 });
    expect(story(request('a', running))).toBe('no upstream called yet');
    expect(story(request('a', { ...running, attempts: [slow] }))).toBe('Groq is being called');
    const both = request('a', { ...running, attempts: [slow, hedge] });
    expect(story(both)).toBe('Groq is slow; Together is called as well');
    expect(whoOf(both, labels)).toBe('Groq and Together');
    const [broken] = rows.handedOver().attempts;
    const resume = attempt({ upstream: 'hosted_b', cause: 'resume', startMs: 2_600 });
    const over = rows.handedOver({ ...running, attempts: broken ? [broken, resume] : [] });
    expect(story(over)).toBe('Groq dropped the stream; Together is called to continue the answer');
    expect(outcomeWords(over, 0).word).toBe('switching upstream');
  });

  test('the story of a broken answer does not take another answer for its continuation', () => {
    const [broken, next] = rows.handedOver().attempts;
    if (!broken || !next) throw new Error('a hand-over has two attempts');
    expect(story(rows.handedOver({ state: 'broken', attempts: [broken] }))).toBe(
      'Groq dropped the stream',
    );
    const refused = { ...next, firstContentMs: null, reason: 'http_400' as const };
    expect(story(rows.handedOver({ state: 'broken', attempts: [broken, refused] }))).toBe(
      'Groq dropped the stream; Together answered HTTP 400; the answer stayed incomplete',
    );
    const diverged = rows.handedOver({ state: 'broken', attempts: [broken, next] });
    expect(story(diverged)).toContain('Together gave a different answer');
    expect(whoOf(diverged, labels)).toBe('Groq');
  });

  test('the story of a request says how it ended where the calls do not show it', () => {
    const attempts = [attempt({ endMs: 5, reason: 'unreachable' })];
    const failed = request('a', { state: 'failed', upstream: null, attempts });
    expect(story(failed)).toBe('Local was unreachable; no upstream answered');
    expect(story({ ...failed, attempts: [], fallbackReason: 'local=paused' })).toBe(
      'Local was paused; no upstream could be called',
    );
    const passed = attempt({ endMs: 5, reason: 'http_400' });
    expect(story({ ...failed, upstream: 'local', attempts: [passed] })).toBe(
      'Local answered HTTP 400; the error was passed on',
    );
    const left = request('a', { state: 'cancelled', attempts: [attempt({ endMs: 5 })] });
    expect(story(left)).toBe('the app disconnected');
  });

  test('every reason has a predicate of its own', () => {
    const predicates = [...SKIP_REASONS, ...FAILURE_REASONS, OUTRUN].map(predicateText);
    expect(new Set(predicates).size).toBe(predicates.length);
    for (const text of predicates) expect(text).not.toMatch(/_|failed:/);
    expect(predicateText('http_503')).toBe('answered HTTP 503');
    expect(predicateText('socket hang up')).toBe('failed: socket hang up');
  });
});

describe('a row of the list of requests', () => {
  test('a row names both the upstream that began an answer and the one that continued it', () => {
    expect(whoOf(rows.handedOver(), labels)).toBe('Groq, then Together');
    expect(whoOf(rows.hedgeLost(), labels)).toBe('Groq');
    expect(whoOf(rows.hedgeWon(), labels)).toBe('Together');
  });

  test('a row names the upstreams that were left before a hedge or a continuation after those', () => {
    const attempts = [attempt({ endMs: 3, reason: 'unreachable' }), ...rows.handedOver().attempts];
    const fallbackReason = 'local=unreachable; hosted_c=circuit_open';
    expect(whyOf(rows.handedOver({ attempts, fallbackReason }), labels)).toBe(
      'Groq dropped the stream; Together continued the answer (Hosted C was skipped (circuit open); Local was unreachable)',
    );
  });

  test('a row has the story of its request where calls ran side by side or an answer was continued', () => {
    expect(whyOf(rows.hedgeLost(), labels)).toBe(story(rows.hedgeLost()));
    expect(whyOf(rows.handedOver(), labels)).toBe(story(rows.handedOver()));
    expect(whyOf(request('a', { attempts: [answered()] }), labels)).toBeNull();
  });
});

describe('an attempt in the details', () => {
  const causes = (row: ReturnType<typeof rows.hedgeWon>) =>
    row.attempts.map((each) => causeText(each, row, labels));
  const results = (row: ReturnType<typeof rows.hedgeWon>) =>
    row.attempts.map((each) => resultText(each, row));

  test('an attempt in the details says why it was made', () => {
    expect(causes(rows.hedgeWon())).toEqual(['next in line', 'hedge: Groq was slow']);
    expect(causes(rows.hedgedAndHandedOver())).toEqual([
      'next in line',
      'hedge: Groq was slow',
      'Together dropped the stream',
    ]);
    const twice = request('a', { attempts: [attempt({ endMs: 4 }), attempt({ startMs: 90 })] });
    expect(causes(twice)).toEqual(['next in line', 'retry']);
  });

  test('an attempt in the details says what came of it', () => {
    expect(results(rows.hedgeLost())).toEqual(['answered', 'lost the race']);
    expect(results(rows.hedgedAndHandedOver())).toEqual([
      'lost the race',
      'dropped',
      'continued it',
    ]);
    const attempts = [answered(), attempt({ cause: 'hedge', startMs: 5 })];
    expect(results(request('a', { ...running, attempts }))).toEqual(['answered', 'waiting']);
    expect(results(rows.handedOver({ state: 'broken' })).at(-1)).toBe('different answer');
    expect(results(request('a', { state: 'cancelled', attempts: [answered()] }))).toEqual([
      'cancelled by the app',
    ]);
  });
});

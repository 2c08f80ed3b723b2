import { describe, expect, test } from 'vitest';
import type { LocalStanding, NoProviderCause } from '#shared/condition.ts';

import type { UpstreamReport } from '#shared/status.ts';
import { headlineOf } from '../../renderer/features/overview/headline.tsx';
import { upstreamWords } from '../../renderer/features/overview/upstream-card.tsx';
import {
  firstBack,
  isUnconfigured,
  upstreamList,
} from '../../renderer/features/overview/upstream-list.ts';
import { circuit, live, NOW, skipped, status, tripped, upstream } from './builders.ts';

type StatusOver = Parameters<typeof status>[1];

function line(
  given: readonly UpstreamReport[],
  { standing, ...over }: StatusOver & { readonly standing?: LocalStanding } = {},
  afterMs = 0,
) {
  const local = standing === undefined ? {} : { local: standing };
  return upstreamList(live({ status: status(given, over), ...local }), NOW + afterMs);
}

const absent = (cause: NoProviderCause | null): LocalStanding => ({ kind: 'absent', cause });

function sentence(...args: Parameters<typeof line>): string {
  const { lead, subject, rest } = headlineOf(line(...args), false);
  return lead + subject + rest;
}

const failing = upstream('local', { circuit: circuit({ consecutiveFails: 2 }) });

test('the first healthy upstream serves, and the line ends there', () => {
  const { upstreams, server } = line([upstream('local'), upstream('hosted_a')]);
  expect(server?.report.id).toBe('local');
  expect(upstreams.map(({ flow }) => flow)).toEqual(['ends', 'none', 'none', 'none', 'none']);
});

test('the line goes round an open circuit and past an upstream that is not set up', () => {
  const { upstreams } = line([tripped('local', 9_000), upstream('hosted_b')]);
  expect(upstreams.map(({ flow }) => flow)).toEqual(['round', 'through', 'ends', 'none', 'none']);
});

test('a cool-down continues between reports and ends as a probe', () => {
  const kind = (afterMs: number) =>
    line([tripped('local', 9_000)], {}, afterMs).upstreams[0]?.condition;
  expect(kind(4_000)).toMatchObject({ kind: 'cooling', remainingMs: 5_000 });
  expect(kind(9_000)).toEqual({ kind: 'probe', cause: 'failures', isRunning: false });
});

test('an exclusion for another model does not take the upstream out', () => {
  const until = new Date(NOW + 60_000).toISOString();
  const skips = [{ reason: 'model_not_found', until, model: 'other' }];
  const { upstreams } = line([upstream('hosted_a', { healthy: false, skips })]);
  expect(upstreams[1]?.condition.kind).toBe('closed');
});

const bare = {
  local: { ...status().local, failed_count: 1 },
  standing: absent(null),
};

test('a machine that nobody expects to serve is “not set up”, and no upstream is out because of it', () => {
  const { upstreams } = line([upstream('hosted_a')], bare);
  expect(upstreams[0]?.condition).toEqual({ kind: 'missing', wants: 'engine' });
  expect(upstreams[0] && upstreamWords(upstreams[0]).word).toBe('not set up');
  expect(sentence([upstream('hosted_a')], bare)).toBe('Serving from Groq');
  expect(headlineOf(line([upstream('hosted_a')], bare), false).problems).toEqual([]);
  expect(isUnconfigured(line([], bare))).toBe(true);
});

test('your GPU, while it is paused for slowness, offers to wait as long as it took', () => {
  const given = [tripped('local', 9_000, { consecutiveFails: 0, consecutiveSlow: 3 })];
  const local = { ...status().local, slow: { ttftMs: 7_000, enoughMs: 14_000 } };
  expect(headlineOf(line(given, { local }), false).problems).toEqual([
    {
      what: 'Local is paused for slowness: the first token took 7.0 s.',
      todo: '',
      remedy: {
        saves: { circuit: { ttftThresholdMs: 14_000 } },
        word: 'Wait longer for my GPU',
        variable: 'INGLENOOK_TTFT_THRESHOLD_MS=14000',
      },
    },
  ]);
});

const problemsOf = (report: ReturnType<typeof upstream>) =>
  headlineOf(line([report]), false).problems.map(({ what }) => what);
const budgetOf = (spent: number) => ({ period: 'day', limit: 10, spent }) as const;

test('a money budget causes a warning from 80 % on', () => {
  expect(problemsOf(upstream('hosted_a', { budget: budgetOf(7.9) }))).toEqual([]);
  expect(problemsOf(upstream('hosted_a', { budget: budgetOf(8) }))).toEqual([
    'Groq has spent over 80% of its budget for the day.',
  ]);
});

test('a used-up money budget skips its upstream until it begins again, and leads to the setting', () => {
  const out = { ...skipped('hosted_a', 'budget', 3_600_000), budget: budgetOf(10) };
  const drawn = line([out, upstream('hosted_b')]);
  const [, view] = drawn.upstreams;
  expect(view && upstreamWords(view)).toMatchObject({
    tone: 'amber',
    word: 'budget spent',
    detail: 'back in 1 h 00 min',
  });
  expect(headlineOf(drawn, false).problems).toEqual([
    {
      what: 'Groq has spent its budget for the day.',
      todo: '',
      remedy: { hash: '#/settings/hosted_a/budgetDay', word: 'Raise budget' },
    },
  ]);
});

test.each([
  ['Nothing is set up yet.', []],
  ['Serving from Local', [upstream('local'), upstream('hosted_a')]],
  ['Serving from Groq. Local is down.', [tripped('local', 9_000), upstream('hosted_a')]],
  ['Serving from Groq. Local is down.', [failing, upstream('hosted_a')]],
  [
    'Serving from Groq. Local is skipped (too slow).',
    [tripped('local', 9_000, { consecutiveFails: 0, consecutiveSlow: 3 }), upstream('hosted_a')],
  ],
  [
    'Serving from Groq. Local is skipped (rate limited).',
    [skipped('local', 'rate_limited', 9_000), upstream('hosted_a')],
  ],
  ['Serving from Groq', [upstream('hosted_a')]],
  ['Nothing can answer now.', [failing]],
  ['Nothing can answer now.', [tripped('local', 0)]],
  ['Local is tried again with the next request.', [tripped('local', 0, { consecutiveFails: 0 })]],
  ['Nothing can answer now.', [tripped('local', 9_000), skipped('hosted_a', 'quota', 9_000)]],
  ['RunPod is next, and off.', [upstream('ondemand')]],
])('the verdict reads: %s', (words, given) => {
  expect(sentence(given)).toBe(words);
});

test('an ondemand upstream that warms up is shown as starting', () => {
  expect(sentence([upstream('ondemand')], { ondemand_warmup: 'warming' })).toBe(
    'RunPod is starting.',
  );
  expect(sentence([upstream('ondemand')], { ondemand_warmup: 'ready' })).toBe(
    'Serving from RunPod',
  );
});

test('a cold start shows how long it has lasted, and how long it usually takes', () => {
  const detail = (elapsedMs: number, usualMs: number | null) => {
    const { ondemand_warmup_detail: before } = status([]);
    const report = {
      ondemand_warmup: 'warming',
      ondemand_warmup_detail: { ...before, elapsedMs, usualMs },
    } as const;
    const { upstreams } = line([upstream('ondemand')], report);
    return upstreams
      .filter(({ report: { id } }) => id === 'ondemand')
      .map((view) => upstreamWords(view).detail);
  };
  expect(detail(40_000, null)).toEqual(['for 40 s']);
  expect(detail(40_000, 90_000)).toEqual(['for 40 s, usually 1 min 30 s']);
});

test('every problem says what to do', () => {
  const { problems } = headlineOf(
    line([
      tripped('local', 9_000),
      skipped('hosted_a', 'credentials', 9_000),
      skipped('hosted_b', 'model_not_found', 9_000),
      skipped('hosted_c', 'quota', 9_000),
    ]),
    false,
  );
  expect(problems).toHaveLength(4);
  for (const { todo, remedy } of problems) expect([todo, remedy]).not.toContain('');
  expect(problems.map(({ remedy }) => remedy)).toEqual([
    { check: 'local', label: 'Local' },
    { hash: '#/settings/hosted_a/apiKey', word: 'Change key' },
    { hash: '#/settings/hosted_b/model', word: 'Change model' },
    expect.objectContaining({ check: 'hosted_c' }),
  ]);
  expect(problems[0]?.todo).toContain('http://local.test/v1');
  expect(problems[2]?.what).toContain('hosted_b-model');
});

test('the verdict has no countdown, as it is read aloud when it changes', () => {
  const given = [tripped('local', 60_000), upstream('hosted_a')];
  expect(headlineOf(line(given), false)).toEqual(headlineOf(line(given, {}, 1_000), false));
});

describe('the words for an upstream', () => {
  const words = (...args: Parameters<typeof line>) => line(...args).upstreams.map(upstreamWords);

  test.each([
    {
      report: tripped('local', 41_000),
      said: 'amber: paused after 5 failures, tried again in 41 s',
    },
    { report: tripped('local', 0), said: 'amber: tried next, next request tests it' },
    {
      report: tripped('local', 9_000, { consecutiveFails: 0, consecutiveSlow: 3 }),
      said: 'amber: paused: 3 times too slow, tried again in 9 s',
    },
    { report: failing, said: 'red: failing, 3 more failures until paused' },
    {
      report: skipped('hosted_a', 'credentials', 590_000),
      said: 'red: key rejected, tried again in 9 min 50 s',
    },
    {
      report: skipped('hosted_a', 'rate_limited', 75_000),
      said: 'amber: rate limited, back in 1 min 15 s',
    },
    { report: upstream('ondemand'), said: 'blue: next, off: it starts first' },
  ])('the words for an upstream read: $said', ({ report, said }) => {
    const view = line([report]).upstreams.find(({ report: { id } }) => id === report.id);
    if (!view) throw new Error('the upstream is not in the list');
    const { tone, word, detail } = upstreamWords(view);
    expect(`${tone}: ${word}, ${detail}`).toBe(said);
  });

  test('an upstream with an address but no key shows what it needs', () => {
    const keyless = upstream('hosted_a', { hasKey: false, healthy: false });
    expect(words([keyless])[1]?.word).toBe('needs a key');
  });
});

test.each<[NoProviderCause, string]>([
  ['silent', 'Local has no machine available: none reports to this gateway.'],
  ['engine', 'Local has no running engine.'],
  ['no-gpu', 'Local has an engine, but no GPU.'],
  ['failed', 'Local has no machine that passed its test.'],
  ['paused', 'Local is held back by the owner.'],
])('the advice for machines that do not serve names the cause: %s', (cause, what) => {
  const { problems } = headlineOf(line([], { standing: absent(cause) }), false);
  expect(problems.map((problem) => problem.what)).toEqual([what]);
  expect(problems[0]?.todo === 'Start the engine.').toBe(cause === 'engine');
});

test('machines that their owner paused are not a problem while another upstream serves', () => {
  const found = line([upstream('hosted_a')], { standing: absent('paused') });
  expect(headlineOf(found, false).problems).toEqual([]);
  expect(headlineOf(found, false).tone).toBe('green');
});

test('the advice is not to start an engine while a machine of local is verified', () => {
  const error = 'unreachable: connect ECONNREFUSED';
  for (const report of [
    upstream('local', { circuit: circuit({ consecutiveFails: 2, lastError: error }) }),
    tripped('local', 9_000),
    tripped('local', 0),
    upstream('local'),
  ]) {
    const pool = { ...report, baseUrl: null };
    const standing: LocalStanding = { kind: 'present', hindrance: null };
    const { problems } = headlineOf(line([pool], { standing }), false);
    for (const { todo } of problems) expect(todo).not.toMatch(/[Ss]tart/);
  }
});

test('every cause is shown if nothing can answer, even one that passes by itself', () => {
  const found = line([
    failing,
    skipped('hosted_a', 'rate_limited', 16_000),
    { ...skipped('hosted_b', 'budget', 60_000), budget: { period: 'day', limit: 1, spent: 1 } },
  ]);
  const { problems, tone, details } = headlineOf(found, false);
  expect([tone, details]).toEqual(['red', ['Requests still try Local first.']]);
  expect(problems.map(({ what, remedy }) => [what, remedy && 'check' in remedy])).toEqual([
    ['Local is failing.', true],
    ['Groq is skipped: rate limited.', true],
    ['Together has spent its budget for the day.', false],
  ]);
  expect(firstBack(found)).toEqual({ label: 'Groq', remainingMs: 16_000, isPromised: true });
});

test('a rejected key is not said to come back, and an upstream that failed only to be tried again', () => {
  const rejected = skipped('hosted_a', 'credentials', 16_000);
  expect(firstBack(line([rejected]))).toBeNull();
  expect(firstBack(line([rejected, tripped('local', 41_000)]))).toMatchObject({
    label: 'Local',
    isPromised: false,
  });
});

import { expect, test } from 'vitest';
import type { LocalStanding, NoProviderCause, Sightings } from '#shared/condition.ts';
import type { UpstreamId } from '#shared/ids.ts';
import type { DemoFault } from '#shared/live.ts';
import { type UpstreamReport, WARMUP_STATES } from '#shared/status.ts';
import { headlineOf } from '../../renderer/features/overview/headline-text.ts';
import { modelText, upstreamWords } from '../../renderer/features/overview/upstream-card.tsx';
import {
  firstBack,
  isUnconfigured,
  upstreamList,
} from '../../renderer/features/overview/upstream-list.ts';
import {
  isPaused,
  isWarmable,
  spendingHint,
  warmupHint,
} from '../../renderer/features/overview/upstream-track.tsx';
import { circuit, live, NOW, perUpstream, skipped, status, tripped, upstream } from './builders.ts';

type StatusOver = Parameters<typeof status>[1];
type Over = StatusOver & {
  readonly standing?: LocalStanding;
  readonly probing?: UpstreamId[];
  readonly sightings?: Sightings;
};

function line(
  given: readonly UpstreamReport[],
  { standing, probing = [], sightings, ...over }: Over = {},
  afterMs = 0,
) {
  const more = { ...(standing && { local: standing }), ...(sightings && { sightings }) };
  return upstreamList(live({ status: status(given, over), probing, ...more }), NOW + afterMs);
}

const absent = (cause: NoProviderCause | null): LocalStanding => ({ kind: 'absent', cause });

function sentence(...args: Parameters<typeof line>): string {
  const { lead, subject, rest } = headlineOf(line(...args));
  return lead + subject + rest;
}

const GROQ = upstream('hosted_a');
const LOADING = { standing: absent('loading') };
/** A check of the engine at the address found it loading. */
const SAID_LOADING: Over = {
  sightings: {
    ...perUpstream({ kind: 'answered', by: 'request' }),
    local: { kind: 'failed', by: 'check', reason: 'loading' },
  },
};
const DUE = tripped('local', 0);
const UNPAID = {
  ...skipped('hosted_a', 'budget', 9_000),
  budget: { period: 'day', limit: 0, spent: 0, unpriced: true },
} as const;
const LIMITED = skipped('local', 'rate_limited', 9_000);
const failing = upstream('local', { circuit: circuit({ consecutiveFails: 2 }) });
const SLOW = tripped('local', 9_000, { consecutiveFails: 0, consecutiveSlow: 3 });

test('the line ends at the first healthy upstream, round an open circuit and past one that is not set up', () => {
  const flows = (...given: readonly UpstreamReport[]) =>
    line(given).upstreams.map((one) => one.flow);
  const round = ['round', 'through', 'ends', 'none', 'none'];
  expect(flows(upstream('local'), GROQ)).toEqual(['ends', 'none', 'none', 'none', 'none']);
  expect(flows(tripped('local', 9_000), upstream('hosted_b'))).toEqual(round);
});

test('a cool-down continues between reports and ends as a probe', () => {
  const kind = (afterMs: number) =>
    line([tripped('local', 9_000)], {}, afterMs).upstreams[0]?.condition;
  expect(kind(4_000)).toMatchObject({ kind: 'cooling', remainingMs: 5_000 });
  expect(kind(9_000)).toEqual({ kind: 'probe', cause: 'failures', times: 5, isRunning: false });
});

test('an exclusion for another model does not take the upstream out', () => {
  const until = new Date(NOW + 60_000).toISOString();
  const skips = [{ reason: 'model_not_found', until, model: 'other' }];
  const { upstreams } = line([upstream('hosted_a', { healthy: false, skips })]);
  expect(upstreams[1]?.condition.kind).toBe('closed');
});

const bare = { local: { ...status().local, failed_count: 1 }, standing: absent(null) };

test('a machine that nobody expects to serve is “not set up”, and no upstream is out because of it', () => {
  const { upstreams } = line([GROQ], bare);
  expect(upstreams[0]?.condition).toEqual({ kind: 'missing', wants: 'engine' });
  expect(upstreams[0] && upstreamWords(upstreams[0]).word).toBe('not set up');
  expect(sentence([GROQ], bare)).toBe('Serving from Groq');
  expect(headlineOf(line([GROQ], bare)).problems).toEqual([]);
  expect(isUnconfigured(line([], bare))).toBe(true);
});

test('your GPU, while it is paused for slowness, offers to wait as long as it took', () => {
  const local = { ...status().local, slow: { ttftMs: 7_000, enoughMs: 14_000 } };
  expect(headlineOf(line([SLOW], { local })).problems).toEqual([
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
  headlineOf(line([report])).problems.map(({ what }) => what);
const budgetOf = (spent: number) => ({ period: 'day', limit: 10, spent }) as const;

test('a money budget causes a warning from 80 % on, or at once if nothing uses it up', () => {
  const budget = { ...budgetOf(0), unpriced: true } as const;
  expect(problemsOf(upstream('hosted_a', { budget }))).toEqual([
    'Groq has no price, so its requests count as 0 and never use up its budget.',
  ]);
  const none = upstream('hosted_a', { budget: { ...budget, limit: 0 } });
  expect(problemsOf(none)).toEqual(['Groq has a budget of 0.']);
  expect(problemsOf(upstream('hosted_a', { budget: budgetOf(7.9) }))).toEqual([]);
  const problems = problemsOf(upstream('hosted_a', { budget: budgetOf(8) }));
  expect(problems).toEqual(['Groq has spent over 80% of its budget for the day.']);
});

test('a used-up money budget skips its upstream until it begins again, and leads to the setting', () => {
  const out = { ...skipped('hosted_a', 'budget', 3_600_000), budget: budgetOf(10) };
  const drawn = line([out, upstream('hosted_b')]);
  const [, view] = drawn.upstreams;
  expect(view && upstreamWords(view)).toMatchObject({
    tone: 'amber',
    word: 'no budget left',
    detail: 'back in 1 h 00 min',
  });
  expect(headlineOf(drawn).problems).toEqual([
    {
      what: 'Groq has spent its budget for the day.',
      todo: '',
      remedy: { hash: '#/settings/hosted_a/budgetDay', word: 'Raise budget' },
    },
  ]);
});

test.each<[words: string, given: readonly UpstreamReport[], over?: Over]>([
  ['Nothing is set up yet.', []],
  ['Serving from Local', [upstream('local'), GROQ]],
  ['Serving from Groq. Local is down.', [tripped('local', 9_000), GROQ]],
  ['Serving from Groq. Local is down.', [failing, GROQ]],
  ['Serving from Groq. Local is skipped (too slow).', [SLOW, GROQ]],
  ['Serving from Groq. Local is skipped (rate limited).', [LIMITED, GROQ]],
  ['Serving from Groq. Local is being tried again.', [DUE, GROQ], { probing: ['local'] }],
  ['Serving from Groq', [GROQ]],
  ['Serving from Groq. Local is loading a model.', [GROQ], LOADING],
  ['Local is loading a model.', [], LOADING],
  ['Local is loading a model.', [tripped('local', 9_000)], SAID_LOADING],
  ['Serving from Groq. Local is loading a model.', [upstream('local'), GROQ], SAID_LOADING],
  ['Serving from Together. Groq has a budget of 0.', [UNPAID, upstream('hosted_b')]],
  ['Nothing can answer now.', [failing]],
  ['Nothing can answer now.', [DUE]],
  ['Local is tried again with the next request.', [tripped('local', 0, { consecutiveFails: 0 })]],
  ['Nothing can answer now.', [tripped('local', 9_000), skipped('hosted_a', 'quota', 9_000)]],
  ['RunPod is next, and off.', [upstream('ondemand')]],
  ['RunPod is starting.', [upstream('ondemand')], { ondemand_warmup: 'warming' }],
  ['Serving from RunPod', [upstream('ondemand')], { ondemand_warmup: 'ready' }],
])('the verdict reads: %s', (words, given, over) => {
  expect(sentence(given, over)).toBe(words);
});

test('a cold start shows how long it has lasted, and how long it usually takes', () => {
  const detail = (elapsedMs: number, usualMs: number | null) => {
    const { ondemand_warmup_detail: before } = status([]);
    const report = {
      ondemand_warmup: 'warming',
      ondemand_warmup_detail: { ...before, elapsedMs, usualMs },
    } as const;
    const view = line([upstream('ondemand')], report).upstreams.at(-1);
    return view && upstreamWords(view).detail;
  };
  expect(detail(40_000, null)).toBe('for 40 s');
  expect(detail(40_000, 90_000)).toBe('for 40 s, usually 1 min 30 s');
});

test('every problem says what to do', () => {
  const { problems } = headlineOf(
    line([
      tripped('local', 9_000),
      skipped('hosted_a', 'credentials', 9_000),
      skipped('hosted_b', 'model_not_found', 9_000),
      skipped('hosted_c', 'quota', 9_000),
    ]),
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
  const given = [tripped('local', 60_000), GROQ];
  expect(headlineOf(line(given))).toEqual(headlineOf(line(given, {}, 1_000)));
});

test.each([
  ['amber: paused after 5 failures, tried again in 41 s', tripped('local', 41_000)],
  ['amber: tried next, next request tests it', tripped('local', 0)],
  ['amber: paused: too slow, tried again in 9 s', SLOW],
  ['red: failing, 3 more failures until paused', failing],
  ['red: key rejected, tried again in 9 min 50 s', skipped('hosted_a', 'credentials', 590_000)],
  ['amber: rate limited, back in 1 min 15 s', skipped('hosted_a', 'rate_limited', 75_000)],
  ['blue: next, off: it starts first', upstream('ondemand')],
  ['grey: budget is 0, paid', UNPAID],
  ['grey: needs a key', upstream('hosted_a', { hasKey: false, healthy: false })],
])('the words for an upstream read: %s', (said, report) => {
  const view = line([report]).upstreams.find(({ report: { id } }) => id === report.id);
  if (!view) throw new Error('the upstream is not in the list');
  const { tone, word, detail } = upstreamWords(view);
  expect(`${tone}: ${[word, detail].filter(Boolean).join(', ')}`).toBe(said);
});

test.each<[NoProviderCause, string]>([
  ['silent', 'Local has no machine that reports to this gateway.'],
  ['engine', 'Local has no engine that answers.'],
  ['no-gpu', 'Local has an engine, but no GPU.'],
  ['failed', 'Local has no machine that passed its test.'],
])('the advice for machines that do not serve names the cause: %s', (cause, what) => {
  const { problems } = headlineOf(line([], { standing: absent(cause) }));
  expect(problems.map((problem) => problem.what)).toEqual([what]);
});

test('machines that are held back can be resumed from the headline, which stays green while another upstream serves', () => {
  const found = line([GROQ], { standing: absent('paused') });
  const { problems, tone, rest } = headlineOf(found);
  const remedy = { cause: 'paused', elsewhere: { word: 'Show machines' } };
  expect(problems).toMatchObject([{ what: 'Local is held back.', todo: '', remedy }]);
  expect([tone, rest]).toEqual(['green', '']);
});

test('the advice is not to start an engine while a machine of local is verified', () => {
  const error = 'unreachable: connect ECONNREFUSED';
  for (const report of [
    upstream('local', { circuit: circuit({ consecutiveFails: 2, lastError: error }) }),
    tripped('local', 9_000),
    tripped('local', 0),
    upstream('local'),
  ]) {
    const standing: LocalStanding = { kind: 'present', hindrance: null };
    const { problems } = headlineOf(line([{ ...report, baseUrl: null }], { standing }));
    for (const { todo } of problems) expect(todo).not.toMatch(/[Ss]tart/);
  }
});

test('every cause is shown if nothing can answer, even one that passes by itself', () => {
  const found = line([
    failing,
    skipped('hosted_a', 'rate_limited', 16_000),
    { ...skipped('hosted_b', 'budget', 60_000), budget: { ...budgetOf(1), limit: 1 } },
  ]);
  const { problems, tone, details } = headlineOf(found);
  expect([tone, details]).toEqual(['red', ['Requests still try Local first.']]);
  expect(problems.map(({ what, remedy }) => [what, remedy && 'check' in remedy])).toEqual([
    ['Local is failing (unreachable).', true],
    ['Groq is skipped: rate limited.', true],
    ['Together has spent its budget for the day.', false],
  ]);
  expect(firstBack(found)).toEqual({ label: 'Groq', remainingMs: 16_000, isPromised: true });
});

test('a rejected key is not said to come back, and an upstream that failed only to be tried again', () => {
  const rejected = skipped('hosted_a', 'credentials', 16_000);
  expect(firstBack(line([rejected]))).toBeNull();
  const first = firstBack(line([rejected, tripped('local', 41_000)]));
  expect(first).toMatchObject({ label: 'Local', isPromised: false });
});

test('“Try again now” is offered at a source that requests skip, unless its budget is spent', () => {
  const given = [
    tripped('local', 9_000),
    skipped('hosted_a', 'rate_limited', 9_000),
    skipped('hosted_b', 'budget', 9_000),
    tripped('hosted_c', 0),
  ];
  const offered = line(given).upstreams.filter(isPaused);
  expect(offered.map(({ report }) => report.id)).toEqual(['local', 'hosted_a']);
});

test('a start is offered at ondemand alone, while that neither runs nor starts', () => {
  for (const state of WARMUP_STATES) {
    const given = [upstream('local'), upstream('ondemand')];
    const report = status(given, { ondemand_warmup: state });
    const offered = line(given, { ondemand_warmup: state })
      .upstreams.filter((view) => isWarmable(view, report))
      .map((view) => view.report.id);
    expect(offered).toEqual(state === 'idle' || state === 'failed' ? ['ondemand'] : []);
  }
});

test('a fallback with a budget of 0 is not said to answer or to start', () => {
  const hint = (given: UpstreamReport) =>
    spendingHint(false, line([upstream('local'), given]).upstreams.slice(1, 2));
  expect([hint(GROQ), hint(UNPAID)]).toEqual([
    'If your GPUs fail, a fallback that costs money may answer.',
    'No fallback may cost money: each has a budget of 0.',
  ]);
  const start = (by: 'switch' | 'budget') => warmupHint({ kind: 'zero-spend', by }, true);
  expect([start('switch'), start('budget')]).toEqual([
    'Off while “Never spend money” is on.',
    'Off while its budget is 0.',
  ]);
});

test('an engine that is held back is not said to run the model asked for', () => {
  const local = upstream('local', { model: '' });
  const text = (over?: Over) =>
    line([local], over)
      .upstreams.slice(0, 1)
      .map((one) => modelText(one, false));
  expect([...text(), ...text({ standing: absent('paused') })]).toEqual(['the model asked for', '']);
});

test('every upstream that costs money is shown as switched off while none may be spent', () => {
  const { upstreams } = line([upstream('local'), GROQ, upstream('ondemand')], { zero: true });
  const states = upstreams.map((one) => upstreamWords(one).word);
  expect(states).toEqual(['serving', 'switched off', 'not set up', 'not set up', 'switched off']);
});

const demo = (local: DemoFault) => {
  return { faults: { ...perUpstream<DemoFault>('none'), local }, traffic: true };
};

test('a source of the demo is told how it serves again, by whether its fault is still chosen', () => {
  const todoAt = (fault: DemoFault) =>
    headlineOf(line([tripped('local', 9_000)]), demo(fault)).problems[0]?.todo;
  expect(todoAt('500')).toMatch(/^Choose “healthy”/);
  expect(todoAt('none')).toMatch(/“Try again now”/);
});

test('the way out is named if only what costs money could answer', () => {
  const out = line([tripped('local', 9_000), GROQ], { zero: true });
  expect(headlineOf(out, demo('none')).problems.at(-1)?.what).toMatch(/Never spend money/);
});

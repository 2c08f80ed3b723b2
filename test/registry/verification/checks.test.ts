import { expect, test } from 'vitest';
import { CHECK_NAMES, CHECKS, type CheckName, failureReason } from '#shared/checks.ts';
import { systemClock } from '../../../main/platform/clock.ts';
import { type InferencePlan, runChecks } from '../../../main/registry/verification/checks.ts';
import type { Finding } from '../../../main/registry/verification/judgements.ts';
import { verdictOf } from '../../../main/registry/verification/verdict.ts';
import { UNVERIFIED } from '../../../main/registry/store/store.ts';
import type { VerificationSubject } from '../../../main/registry/verifier-host.ts';
import {
  type Answer,
  CANDIDATE_HOSTS,
  edgesFor,
  type FakeProvider,
  GATEWAY_TOKEN,
  hangUp,
  json,
  recordAt,
  startFakeProvider,
  subjectOf,
} from '../fake-provider.ts';

const {
  health: HEALTH,
  engineHealth: ENGINE,
  gpuCount: GPU,
  inference: INFERENCE,
  latency: LATENCY,
  model: MODEL,
} = CHECKS;

const NEVER = new AbortController().signal;

async function run(
  provider: FakeProvider,
  changes: Partial<VerificationSubject> = {},
  inference: InferencePlan = 'run',
): Promise<readonly Finding[]> {
  const order = { subject: subjectOf(provider, changes), inference, signal: NEVER };
  return (await runChecks(order, edgesFor(provider, systemClock))) ?? [];
}

const namesThat = (findings: readonly Finding[], passed: boolean) =>
  CHECK_NAMES.filter(
    (name) => findings.some(({ check }) => check.name === name && check.passed) === passed,
  );
const reasonOf = (findings: readonly Finding[]) =>
  failureReason(findings.map(({ check }) => check));
const entries = (findings: readonly Finding[], name: CheckName) =>
  findings.filter(({ check }) => check.name === name).map(({ check }) => check);

test('every request after the proof bears the token and no other secret, and the test inference is small and new', async () => {
  const provider = await startFakeProvider();
  await run(provider);
  await run(provider);
  for (const { headers, path } of provider.calls) {
    expect(headers['x-gateway-token']).toBe(path === '/health' ? undefined : GATEWAY_TOKEN);
    expect(headers.authorization).toBeUndefined();
  }
  const chats = provider.calls.filter(({ method }) => method === 'POST');
  expect(JSON.parse(chats[0]?.body ?? '')).toMatchObject({
    model: 'qwen3-32b',
    max_tokens: 16,
    temperature: 0,
    stream: false,
  });
  expect(new Set(chats.map(({ body }) => body)).size).toBe(chats.length);
  const nonces = provider.calls.flatMap(({ query }) => query.get('nonce') ?? []);
  expect(new Set(nonces).size).toBe(8);
});

test('a gateway without a descriptor learns nothing: a verified machine stays, and is checked again soon', async () => {
  const provider = await startFakeProvider();
  // Its address needs no name.
  provider.on('/health', hangUp);
  const edges = edgesFor(provider, systemClock);
  const exhausted = () =>
    Promise.reject(Object.assign(new Error('no descriptor'), { code: 'EMFILE' }));
  const order = { subject: subjectOf(provider), inference: 'run', signal: NEVER } as const;
  const findings = (await runChecks(order, { ...edges, lookup: exhausted })) ?? [];
  const why = entries(findings, HEALTH)[0]?.error;
  expect(why).toBe('this gateway had no file descriptor left to ask it');
  expect(verdictOf(findings, false)).toEqual({ kind: 'not_ready' });
});

/** One way for each check to fail, with the other checks that cannot pass then. */
const BREAKS: Readonly<
  Record<
    CheckName,
    {
      readonly script?: readonly [path: string, answer: Answer];
      readonly record?: Parameters<typeof recordAt>[1];
      readonly error: string;
      readonly takes: readonly CheckName[];
    }
  >
> = {
  [HEALTH]: {
    script: ['/health', json(500, {})],
    error: 'HTTP 500',
    takes: [INFERENCE, LATENCY, MODEL],
  },
  [ENGINE]: {
    record: { engine_health: { status: 'error', code: 0 } },
    error: 'the engine is "error" (no answer)',
    takes: [],
  },
  [GPU]: {
    record: { gpu: { count: 0, devices: [], total_memory_gb: null, gpu_cores: null } },
    error: 'no GPU reported',
    takes: [],
  },
  [INFERENCE]: {
    script: ['/v1/chat/completions', json(200, { choices: [] })],
    error: 'no choices in the answer',
    takes: [LATENCY],
  },
  [LATENCY]: {
    script: ['/v1/chat/completions', json(500, { error: { message: 'a secret' } })],
    error: 'check missing',
    takes: [INFERENCE],
  },
  [MODEL]: {
    script: ['/v1/models', json(200, { data: [{ id: 'a' }, { id: 'b' }] })],
    error: 'model "qwen3-32b" not listed (lists a, b)',
    takes: [],
  },
};

const PAIRS = CHECK_NAMES.flatMap((a) => CHECK_NAMES.map((b) => [a, b] as const));

test.each(PAIRS)(
  'the checks "%s" and "%s", when broken, fail alone with those that depend on them',
  async (a, b) => {
    const provider = await startFakeProvider();
    const broken = [BREAKS[a], BREAKS[b]];
    for (const { script } of broken) if (script !== undefined) provider.on(...script);
    const record = recordAt(provider.port, Object.assign({}, ...broken.map((one) => one.record)));
    const findings = await run(provider, { record });
    const failed = new Set([a, b, ...broken.flatMap(({ takes }) => takes)]);
    expect(namesThat(findings, false)).toEqual(CHECK_NAMES.filter((name) => failed.has(name)));
    // What hangs on the other broken check did not run; of two answers to one route the last holds.
    const hangs = BREAKS[b].takes.includes(a) && a !== b;
    const shown = entries(findings, a)[0]?.error;
    expect(hangs ? BREAKS[a].error : shown).toBe(BREAKS[a].error);
    const kind = verdictOf(findings, true).kind;
    const isModel = failed.has(MODEL) && !failed.has(HEALTH);
    expect(kind).toBe(isModel ? 'model_mismatch' : 'failed');
  },
);

test.each(CANDIDATE_HOSTS)('a machine that answers only at %s is verified', async (alive) => {
  const provider = await startFakeProvider();
  for (const host of CANDIDATE_HOSTS) {
    if (host !== alive) provider.on('/health', hangUp, host);
  }
  const findings = await run(provider);
  expect(reasonOf(findings)).toBe('');
  expect(verdictOf(findings, true).kind).toBe('verified');
  const chats = provider.calls.filter(({ method }) => method === 'POST');
  expect(chats.map(({ host }) => host)).toEqual([alive]);
});

const UNSIGNED = "not signed by this provider's key";

test.each<[says: string, answer: Answer, error: string]>([
  [
    '401 of an agent',
    json(401, {}, { 'x-gateway-agent': 'unauthorized' }),
    '401 from the agent: it does not know this gateway',
  ],
  ['401 of somebody', json(401, {}), 'HTTP 401'],
  ['a page', ({ res }) => void res.end('<html>'), 'not JSON'],
  ['no signature', json(200, { status: 'ok' }), UNSIGNED],
  ['a list', json(200, []), UNSIGNED],
  ['__proto__', ({ res }) => void res.end('{"__proto__":{"status":"ok"}}'), UNSIGNED],
  ['an unsigned loading', json(503, { status: 'loading' }), 'HTTP 503'],
  ['another id', json(200, { status: 'ok', id: 'prv_other', signature: 'x' }), UNSIGNED],
])(
  'a /health with %s fails its check, and is never shown the token',
  async (_says, answer, error) => {
    const provider = await startFakeProvider();
    provider.on('/health', answer);
    const findings = await run(provider);
    expect(entries(findings, HEALTH).map((check) => check.error)).toEqual(Array(4).fill(error));
    expect(provider.calls.every(({ path }) => path === '/health')).toBe(true);
    const tokens = provider.calls.map(({ headers }) => headers['x-gateway-token']);
    expect(new Set(tokens)).toEqual(new Set([undefined]));
  },
);

test('a signature of another key is a mismatch of identity', async () => {
  const provider = await startFakeProvider();
  const stranger = await startFakeProvider();
  // The stranger holds the address and says the id of the one it plays.
  const swapped = { id: provider.id, publicKey: provider.publicKey, port: stranger.port };
  const order = { subject: subjectOf(swapped), inference: 'run', signal: NEVER } as const;
  const findings = (await runChecks(order, edgesFor(stranger, systemClock))) ?? [];
  expect(verdictOf(findings, true)).toEqual({ kind: 'identity_mismatch' });
});

test('a replayed answer is a mismatch of identity', async () => {
  const provider = await startFakeProvider();
  const url = `http://127.0.0.1:${provider.port}/health?nonce=00ff`;
  const old: unknown = await (await fetch(url)).json();
  provider.on('/health', json(200, old));
  expect(verdictOf(await run(provider), true)).toEqual({ kind: 'identity_mismatch' });
});

const LOADING = { code: 503, message: 'Loading model', type: 'unavailable_error' };

test.each([
  ['llama.cpp is loading', 503, { error: LOADING }, 'not_ready'],
  ['it is full', 503, { error: { code: 'busy', message: 'full' } }, 'not_ready'],
  ['it is draining', 503, { error: { code: 'draining', message: 'x' } }, 'not_ready'],
  ['it limits rates', 429, { error: { message: 'x' } }, 'not_ready'],
  ['it is broken', 503, { error: { code: 503, message: 'out of memory' } }, 'failed'],
] as const)('an answer to the test inference says that %s', async (_says, status, body, kind) => {
  const provider = await startFakeProvider();
  provider.on('/v1/chat/completions', json(status, body));
  const findings = await run(provider);
  expect(verdictOf(findings, false)).toEqual({ kind });
  expect(reasonOf(findings)).not.toContain('out of memory');
});

/** A run of a machine that has passed one, with the POSTs that the second made. */
async function runAgain(inference: InferencePlan, said: Readonly<Record<string, unknown>> = {}) {
  const provider = await startFakeProvider();
  const checks = (await run(provider)).map(({ check }) => check);
  const before = provider.calls.length;
  provider.says(said);
  const verification = { ...UNVERIFIED, state: 'verified', checks } as const;
  const findings = await run(provider, { verification }, inference);
  const posts = provider.calls.slice(before).filter(({ method }) => method === 'POST').length;
  return { checks, findings, posts };
}

test('a light run asks for no completion and keeps the last inference result', async () => {
  const { checks, findings, posts } = await runAgain('carry');
  expect(posts).toBe(0);
  const kept = ({ name }: { name: string }) => name === INFERENCE || name === LATENCY;
  const shown = findings.map(({ check }) => check).filter(kept);
  expect(shown).toHaveLength(8);
  expect(shown).toEqual(expect.arrayContaining(checks.filter(kept)));
  expect(verdictOf(findings, false).kind).toBe('verified');
});

test.each([
  ['has none loaded', { model: null }, 0],
  ['has one loaded', { model: 'qwen3-32b' }, 4],
  ['does not say', {}, 4],
])(
  'a machine whose engine %s gets a due test inference only if a model may be loaded',
  async (_says, said, posts) => {
    const { findings, ...made } = await runAgain('if_loaded', said);
    expect(made.posts).toBe(posts);
    expect(verdictOf(findings, false).kind).toBe('verified');
  },
);

test('neither the token nor the body of an answer is shown', async () => {
  const provider = await startFakeProvider();
  const echo: Answer = ({ res, headers }) =>
    void res.writeHead(500).end(JSON.stringify({ error: { message: headers['x-gateway-token'] } }));
  for (const path of ['/v1/models', '/v1/chat/completions']) provider.on(path, echo);
  expect(JSON.stringify(await run(provider))).not.toContain(GATEWAY_TOKEN);
});

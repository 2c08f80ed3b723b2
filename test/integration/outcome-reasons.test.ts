import { expect, test } from 'vitest';
import {
  FAILURE_REASONS,
  isFallbackReason,
  OUTRUN,
  SKIP_REASONS,
  type FallbackReason,
} from '#shared/reasons.ts';
import { chat } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import {
  answers,
  error,
  hang,
  reset,
  sse,
  startUpstream,
  type Script,
} from '../support/upstream.ts';
import { at } from '../support/words.ts';
import { STATUS_ROWS } from './status-rows.ts';

/** `http_<status>` stands beside the closed list. */
type Listed = Exclude<FallbackReason, `http_${number}`>;

/** Reasons for which an upstream is left that behaves so. */
const FAILURES = {
  unreachable: reset,
  timeout: hang,
  busy: error(503, 'server busy'),
  rate_limited: error(429),
  quota: error(402),
  credentials: error(401, 'no', null, { 'x-gateway-agent': 'unauthorized' }),
  model_not_found: error(404, 'no', 'model_not_found'),
  context_length: error(400, 'no', 'context_length_exceeded'),
  request_too_large: error(413),
  unsupported_input: error(500, 'image input is not supported'),
  unsupported_feature: error(400, 'qwen does not support tools'),
  moderation: error(400, 'no', 'content_filter'),
  bad_response: sse(),
} as const satisfies Partial<Record<Listed, Script>>;

/** Reasons for which `hosted_a` is not asked under these settings. */
const SKIPS = {
  not_configured: {},
  zero_spend: { HOSTED_A_BASE_URL: 'http://127.0.0.1:9', FORCE_ZERO: 'true' },
  budget: { HOSTED_A_BASE_URL: 'http://127.0.0.1:9', HOSTED_A_BUDGET_DAY: '0' },
} as const satisfies Partial<Record<Listed, Readonly<Record<string, string>>>>;

/** Produced by more than one request: test/integration/circuit.test.ts. */
const BY_CIRCUITS = ['circuit_open'] as const satisfies readonly Listed[];

/** Produced by calls beside each other: test/integration/hedge.test.ts and test/integration/predicted.test.ts. */
const BY_RACES = ['outrun', 'predicted_slow'] as const satisfies readonly Listed[];

/** Produced by a process without descriptors: test/e2e/descriptors.test.ts. */
const BY_LIMITS = ['gateway_exhausted'] as const satisfies readonly Listed[];

/** Produced by other endpoints than chat completions: test/integration/endpoint-models.test.ts, endpoint-support.test.ts. */
const BY_ENDPOINTS = ['model_mismatch', 'unsupported'] as const satisfies readonly Listed[];

/** Produced by two requests of the same length: test/integration/silent-cut.test.ts. */
const BY_CUTS = ['truncated'] as const satisfies readonly Listed[];

/** Reasons that nothing produces yet, and the work that will. */
const LATER = {
  no_provider: 'the registry: local is configured, and no provider can serve',
  paused: 'the registry: the owner paused the machine',
  disabled: 'the settings page: an upstream that is switched off',
} as const satisfies Partial<Record<Listed, string>>;

test('each fallback reason of the closed list is shown by a test, and no other reason is', () => {
  const single = [FAILURES, SKIPS, LATER].flatMap((reasons) => Object.keys(reasons));
  const byMore = [BY_CIRCUITS, BY_RACES, BY_LIMITS, BY_ENDPOINTS, BY_CUTS];
  const placed = [...single, ...byMore.flat()];
  expect(placed.toSorted()).toEqual([...SKIP_REASONS, ...FAILURE_REASONS, OUTRUN].toSorted());
  expect(placed).toSatisfy((reasons: string[]) => reasons.every(isFallbackReason));
});

test.each(Object.entries(FAILURES))('local is left for the reason %s', async (reason, script) => {
  const local = await startUpstream(script);
  const hosted = await startUpstream(answers('hi'));
  const gateway = await startGateway({
    ...at({ local: local.url, hosted_a: hosted.url }),
    LOCAL_TIMEOUT_MS: reason === 'timeout' ? '50' : '20000',
  });
  const answer = await chat(gateway.url);
  expect(answer).toMatchObject({ status: 200, upstream: 'hosted_a', reason: `local=${reason}` });
});

test.each(Object.entries(SKIPS))('hosted_a is skipped for the reason %s', async (reason, given) => {
  const gateway = await startGateway(given);
  const answer = await chat(gateway.url);
  expect(answer).toMatchObject({ status: 503, upstream: 'none' });
  expect(answer.reason).toContain(`hosted_a=${reason}`);
});

test('every fallback reason of the table of statuses is in the closed list', () => {
  for (const { reason } of STATUS_ROWS) expect(reason).toSatisfy(isFallbackReason);
});

test.each(['', 'http_', 'http_99', 'http_5000', 'HTTP_500', 'none', 'broken'])(
  'the list of fallback reasons is closed: "%s" is not in it',
  (text) => {
    expect(isFallbackReason(text)).toBe(false);
  },
);

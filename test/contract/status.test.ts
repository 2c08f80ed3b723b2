import { expect, test } from 'vitest';
import { UPSTREAM_IDS } from '#shared/ids.ts';
import { statusReportSchema } from '#shared/status.ts';
import { ENTRIES } from '../../main/config/schema.ts';
import { chat, chatStream } from '../support/client.ts';
import { createManualClock } from '../support/clock.ts';
import { send } from '../support/http.ts';
import { answers, cut, error, REFUSED_URL, ROLE } from '../support/upstream.ts';
import { startBefore } from '../support/scene.ts';
import { startControlled } from '../support/control.ts';

const REMOTES = ['HOSTED_A', 'HOSTED_B', 'HOSTED_C', 'ONDEMAND'];
const NOWHERE = 'http://127.0.0.1:9';

test('the status report has every field with its default when nothing is configured', async () => {
  const gateway = await startControlled({}, createManualClock());
  const report = await gateway.status();
  expect(report).toMatchObject({
    ok: false,
    timestamp: '2026-01-01T00:00:00.000Z',
    forceZero: false,
    zero: false,
    gateway_forceZero_header: '0',
    local: { verified_count: 0, pending_count: 0, failed_count: 0, provider: null },
    ondemand_warmup: 'idle',
    ondemand_warmup_detail: { state: 'idle', lastWarmupAt: null },
  });
  expect(report.local.health).toBe('unavailable');
  const nothing = { baseUrl: null, hasKey: false, healthy: false };
  expect(report.upstreams).toMatchObject([
    { id: 'local', ...nothing, chatPath: '/v1/chat/completions', timeoutMs: 60000 },
    { id: 'hosted_a', ...nothing, chatPath: '/chat/completions', timeoutMs: 30000 },
    { id: 'hosted_b', ...nothing, chatPath: '/chat/completions', timeoutMs: 30000 },
    { id: 'hosted_c', ...nothing, chatPath: '/chat/completions', timeoutMs: 30000 },
    { id: 'ondemand', ...nothing, chatPath: '/v1/chat/completions', timeoutMs: 120000 },
  ]);
  expect(report.config.order).toEqual(UPSTREAM_IDS);
  expect(report.config.models).toEqual(Object.fromEntries(UPSTREAM_IDS.map((id) => [id, null])));
  expect(report.stats).toMatchObject({
    totalRequests: 0,
    fallbackCount: 0,
    providerCircuits: {},
    providerLatencies: {},
    config: { failThreshold: 5, cooldownMs: 60000, ttftThresholdMs: 5000, ttftSlowThreshold: 3 },
  });
  expect(report.hint).toMatch(/X-Gateway-Upstream.*X-Gateway-Fallback-Reason/);
});

test('the status report has every value as it was set when everything is configured', async () => {
  const remotes = REMOTES.flatMap((name) => [
    [`${name}_BASE_URL`, `${NOWHERE}/v1/`],
    [`${name}_API_KEY`, `sk-${name}-0123456789abcdef`],
    [`${name}_MODEL`, `model of ${name}`],
    [`${name}_LABEL`, `label of ${name}`],
    [`${name}_TIMEOUT_MS`, '1234'],
    [`${name}_HEADERS`, '{"X-Org":"blue"}'],
  ]);
  const gateway = await startControlled({
    LOCAL_ENGINE_URL: NOWHERE,
    LOCAL_TIMEOUT_MS: '4321',
    FAIL_THRESHOLD: '2',
    ...(Object.fromEntries(remotes) as Record<string, string>),
  });
  const report = await gateway.status();
  expect([report.ok, report.local.health]).toEqual([true, 'ok']);
  expect(report.upstreams.every(({ healthy }) => healthy)).toBe(true);
  const [local, ...others] = report.upstreams;
  expect(local).toMatchObject({ hasKey: false, apiKeyPreview: null });
  expect(others).toMatchObject(
    REMOTES.map((name) => ({
      label: `label of ${name}`,
      model: `model of ${name}`,
      baseUrl: `${NOWHERE}/v1`,
      hasKey: true,
      apiKeyPreview: 'sk-…cdef',
      headers: { 'X-Org': '…' },
    })),
  );
  const timeouts = UPSTREAM_IDS.map((id) => [id, id === 'local' ? 4321 : 1234]);
  expect(report.config.timeouts).toEqual(Object.fromEntries(timeouts));
  expect(report.stats.config.failThreshold).toBe(2);
});

test('the hints name real variables: those of each upstream and of the thresholds', async () => {
  const { config, upstreams } = await (await startControlled({})).status();
  const known = new Set(ENTRIES.map(({ variable }) => variable));
  const hinted = Object.entries(config.env_hint);
  expect(hinted.map(([id]) => id)).toEqual([...UPSTREAM_IDS, 'thresholds']);
  for (const [id, hint] of hinted) {
    const names = hint.match(/INGLENOOK_\w+/g) ?? [];
    expect([id, names.length]).not.toEqual([id, 0]);
    expect(names.filter((name) => !known.has(name))).toEqual([]);
  }
  expect(config.env_hint['thresholds']).toContain('INGLENOOK_TTFT_THRESHOLD_MS');
  expect(upstreams.map(({ apiKeyEnv }) => apiKeyEnv)).toEqual([
    expect.stringMatching(/Authorization header .*forwarded/),
    ...REMOTES.map((name) => `INGLENOOK_${name}_API_KEY`),
  ]);
});

test('successes, failures and fallbacks are counted where they happened', async () => {
  const { gateway } = await startBefore(
    { a: [error(503), answers('hello there'), cut(ROLE)], b: answers('hello there') },
    { LOCAL_ENGINE_URL: REFUSED_URL },
  );
  const { url } = gateway;
  const used = [await chat(url), await chatStream(url), await chatStream(url)];
  expect(used.map(({ upstream }) => upstream)).toEqual(['hosted_b', 'hosted_a', 'hosted_b']);
  await chat(gateway.url, { messages: [] });
  const report = await gateway.status();
  expect(report.stats).toMatchObject({ totalRequests: 3, fallbackCount: 3 });
  expect(report.stats.perUpstream).toEqual({
    local: { requests: 3, fails: 3, successes: 0 },
    hosted_a: { requests: 3, fails: 2, successes: 1 },
    hosted_b: { requests: 2, fails: 0, successes: 2 },
    hosted_c: { requests: 0, fails: 0, successes: 0 },
    ondemand: { requests: 0, fails: 0, successes: 0 },
  });
  const { local, hosted_b: b } = report.circuits;
  expect(local).toMatchObject({ fails: 3, consecutiveFails: 3, lastSuccessAt: null, open: false });
  expect(local?.lastError).toMatch(/^unreachable/);
  expect(local?.lastFailAt).toEqual(expect.any(String));
  expect(b).toMatchObject({ successes: 2, consecutiveFails: 0, lastError: null });
  const measured = { lastTtftMs: expect.any(Number), ewmaTtft: expect.any(Number) };
  expect(b).toMatchObject({ lastSuccessAt: expect.any(String), ...measured });
});

test.each<[setting: string, header: string | null, shown: string, zero: boolean]>([
  ['false', null, '0', false],
  ['false', '0', '0', false],
  ['false', '1', '1', true],
  ['false', 'False', 'False', false],
  ['false', 'yes', 'yes', true],
  ['false', '1, 1', '1, 1', true],
  ['true', null, '0', true],
  ['true', '0', '0', true],
  ['true', '1', '1', true],
])(
  'the report with FORCE_ZERO %s and the header %s shows %s, and zero is %s',
  async (setting, header, shown, zero) => {
    const gateway = await startControlled({ FORCE_ZERO: setting, HOSTED_A_BASE_URL: NOWHERE });
    const headers: Record<string, string> =
      header === null ? {} : { 'x-gateway-force-zero': header };
    const { text } = await send(`${gateway.url}/api/v1/status`, { headers });
    const told = { forceZero: setting === 'true', gateway_forceZero_header: shown };
    expect(statusReportSchema.parse(JSON.parse(text))).toMatchObject({ ...told, zero, ok: !zero });
  },
);

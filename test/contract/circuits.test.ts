import { expect, test } from 'vitest';
import { chat, HELLO } from '../support/client.ts';
import { startControlled, type Controlled } from '../support/control.ts';
import { expectError } from '../support/http.ts';
import { answers, error, hang, REFUSED_URL } from '../support/upstream.ts';
import { at } from '../support/words.ts';
import { startBefore, startStill } from '../support/scene.ts';

async function upstreamOf(gateway: Controlled, id: string) {
  const report = await gateway.status();
  const upstream = report.upstreams.find((each) => each.id === id);
  if (upstream === undefined) throw new Error(id);
  expect(report.circuits[id]).toEqual(upstream.circuit);
  return { ok: report.ok, health: report.local.health, ...upstream };
}

test.each(['nobody', 'LOCAL', 'toString', '%2e%2e', 'x'.repeat(500)])(
  'the reset of an unknown circuit "%s" is a 404',
  async (id) => {
    const gateway = await startControlled({});
    const answer = await gateway.post(`circuits/${id}/reset`);
    expect(expectError(answer, 404, 'not_found').length).toBeLessThan(250);
  },
);

test('a reset closes the circuit, deletes every skip, those of models too, and keeps the lifetime counts', async () => {
  const { gateway, a } = await startBefore(
    { a: [error(404, 'no such model'), error(503), error(429)] },
    { FAIL_THRESHOLD: '1' },
  );
  for (const model of ['m1', 'm2', 'm2']) await chat(gateway.url, { ...HELLO, model });
  const before = await upstreamOf(gateway, 'hosted_a');
  expect(before.skips.map(({ reason, model }) => [reason, model])).toEqual([
    ['model_not_found', 'm1'],
    ['rate_limited', undefined],
  ]);
  expect(before).toMatchObject({ ok: false, healthy: false, circuit: { open: true } });
  const answer = await gateway.post('circuits/hosted_a/reset');
  expect([answer.status, JSON.parse(answer.text)]).toEqual([200, { id: 'hosted_a' }]);
  expect(await upstreamOf(gateway, 'hosted_a')).toMatchObject({
    ok: true,
    healthy: true,
    skips: [],
    circuit: {
      open: false,
      failUntil: null,
      cooldownRemainingMs: 0,
      consecutiveFails: 0,
      fails: 1,
      lastError: 'http_503: HTTP 503',
    },
  });
  a.script = answers('hi');
  expect((await chat(gateway.url)).status).toBe(200);
});

test('the status report says until when a circuit is open, and that after it one request is admitted, as a probe', async () => {
  const { gateway, local, clock } = await startStill(
    { local: [error(503), hang] },
    { FAIL_THRESHOLD: '1' },
  );
  expect(await upstreamOf(gateway, 'local')).toMatchObject({ ok: true, health: 'ok' });
  await chat(gateway.url);
  clock.advance(1000);
  const failUntil = '2026-01-01T00:01:00.000Z';
  expect(await upstreamOf(gateway, 'local')).toMatchObject({
    ok: false,
    health: 'degraded',
    healthy: false,
    circuit: { open: true, failUntil, cooldownRemainingMs: 59_000 },
  });
  clock.advance(59_000);
  expect(await upstreamOf(gateway, 'local')).toMatchObject({
    ok: true,
    health: 'ok',
    healthy: false,
    circuit: { open: true, failUntil, cooldownRemainingMs: 0 },
  });
  const probe = chat(gateway.url);
  const call = await local.call(2);
  expect(await upstreamOf(gateway, 'local')).toMatchObject({
    ok: false,
    health: 'degraded',
    circuit: { open: true, cooldownRemainingMs: 0 },
  });
  await answers('back')(call);
  await probe;
  expect(await upstreamOf(gateway, 'local')).toMatchObject({ ok: true, healthy: true });
});

test.each([
  ['rate_limited', error(429, 'no', null, { 'retry-after': '40' }), 40_000],
  ['quota', error(402), 600_000],
  ['credentials', error(401), 600_000],
])(
  'the status report names the skip for %s and its end, and no longer once it is over',
  async (reason, script, ms) => {
    const { gateway, clock } = await startStill({ a: script });
    await chat(gateway.url);
    const until = new Date(clock.now() + ms).toISOString();
    expect(await upstreamOf(gateway, 'hosted_a')).toMatchObject({
      ok: false,
      healthy: false,
      skips: [{ reason, until }],
      circuit: { open: false, fails: 0 },
    });
    clock.advance(ms - 1);
    expect((await upstreamOf(gateway, 'hosted_a')).skips).toHaveLength(1);
    clock.advance(1);
    expect(await upstreamOf(gateway, 'hosted_a')).toMatchObject({ ok: true, skips: [] });
  },
);

test('the status report does not call the gateway unable for one model that is missing', async () => {
  const { gateway } = await startBefore({ a: error(404, 'no such model') });
  await chat(gateway.url, { ...HELLO, model: 'm1' });
  expect(await upstreamOf(gateway, 'hosted_a')).toMatchObject({
    ok: true,
    healthy: false,
    skips: [{ reason: 'model_not_found', model: 'm1' }],
  });
});

test('a warm-up without an on-demand upstream is a 409', async () => {
  const gateway = await startControlled({});
  const message = expectError(await gateway.post('warmup'), 409, 'not_configured');
  expect(message).toContain('INGLENOOK_ONDEMAND_BASE_URL');
});

test.each([{ FORCE_ZERO: 'true' }, { ONDEMAND_BUDGET_DAY: '0' }])(
  'no warm-up starts with %j, and the answer says so',
  async (settings) => {
    const { gateway, ondemand } = await startBefore({ ondemand: hang }, settings);
    expectError(await gateway.post('warmup'), 409, 'zero_spend');
    expect(ondemand.gets).toHaveLength(0);
  },
);

test('a warm-up starts at once, whatever routing may do, and a second request joins it', async () => {
  const { gateway, ondemand, clock } = await startStill(
    { ondemand: { get: () => {} } },
    { ONDEMAND_WARMUP: 'false' },
  );
  for (let n = 0; n < 2; n += 1) {
    const answer = await gateway.post('warmup');
    expect([answer.status, JSON.parse(answer.text)]).toEqual([202, { state: 'warming' }]);
  }
  const { res } = await ondemand.get(1);
  const lastWarmupAt = '2026-01-01T00:00:00.000Z';
  expect(await gateway.status()).toMatchObject({
    ondemand_warmup: 'warming',
    ondemand_warmup_detail: { state: 'warming', lastWarmupAt },
  });
  clock.advance(1500);
  res.writeHead(200).end();
  await expect
    .poll(async () => (await gateway.status()).ondemand_warmup_detail)
    .toEqual({
      state: 'ready',
      lastWarmupAt,
      lastResult: 'HTTP 200',
      durationMs: 1500,
      elapsedMs: null,
      usualMs: null,
    });
  expect(ondemand.gets).toHaveLength(1);
});

test('the warm-up by routing stops with the next request once it is switched off, and resumes once it is on', async () => {
  const { gateway, ondemand } = await startStill(
    { ondemand: { script: error(402), get: error(401) } },
    at({ local: REFUSED_URL }),
  );
  await gateway.set({ ondemand: { warmup: false } });
  await chat(gateway.url);
  expect(await gateway.status()).toMatchObject({ ondemand_warmup: 'idle' });
  expect(ondemand.gets).toHaveLength(0);
  await gateway.set({ ondemand: { warmup: true } });
  await chat(gateway.url);
  expect((await ondemand.get(1)).path).toBe('/health');
  await expect.poll(async () => (await gateway.status()).ondemand_warmup).toBe('failed');
});

import { expect, test } from 'vitest';
import type { HostedId } from '#shared/ids.ts';
import { chat, HELLO } from '../support/client.ts';
import { createManualClock } from '../support/clock.ts';
import { type Controlled, startControlled } from '../support/control.ts';
import { readFeed } from '../support/feed.ts';
import { startWithHistory, temporaryDirectory } from '../support/gateway.ts';
import { expectError, postJson, send } from '../support/http.ts';
import { controlOf } from '../support/tier.ts';
import { answers, error, hang, startUpstream } from '../support/upstream.ts';

const HOUR_MS = 3_600_000;

function prefer({ url, control }: Pick<Controlled, 'url' | 'control'>, body: unknown) {
  const headers = { 'content-type': 'application/json', ...control };
  return send(`${url}/api/v1/preference`, { method: 'PUT', headers, body: JSON.stringify(body) });
}

async function started(settings: Readonly<Record<string, string>> = {}) {
  const clock = createManualClock();
  const [local, a, b] = [await startUpstream(), await startUpstream(), await startUpstream()];
  for (const each of [local, a, b]) each.script = answers('hi');
  const gateway = await startControlled(
    {
      LOCAL_ENGINE_URL: local.url,
      HOSTED_A_BASE_URL: a.url,
      HOSTED_B_BASE_URL: b.url,
      ...settings,
    },
    clock,
  );
  const by = async (id: HostedId) => {
    const answer = await prefer(gateway, { id });
    expect(answer.status).toBe(200);
    return JSON.parse(answer.text) as unknown;
  };
  return { clock, local, a, b, gateway, prefers: by };
}

test('the preferred upstream is called first for an hour, and the order is the fixed one again after it', async () => {
  const { clock, gateway, prefers } = await started();
  const before = await gateway.status();
  const until = new Date(clock.now() + HOUR_MS).toISOString();
  expect(await prefers('hosted_b')).toEqual({ preferred: { id: 'hosted_b', until } });
  expect(await chat(gateway.url)).toMatchObject({ upstream: 'hosted_b', reason: 'none' });
  const during = await gateway.status();
  expect(during.preferred).toEqual({ id: 'hosted_b', until });
  expect(during.config).toEqual(before.config);
  expect(during.upstreams.map(({ id }) => id)).toEqual(before.config.order);
  clock.advance(HOUR_MS);
  expect(await chat(gateway.url)).toMatchObject({ upstream: 'local', reason: 'none' });
  expect(await gateway.status()).not.toHaveProperty('preferred');
});

test('the other upstreams follow in the fixed order where the preferred one fails, and its circuit counts as always', async () => {
  const { a, b, gateway, prefers } = await started({ FAIL_THRESHOLD: '1', COOLDOWN_MS: '600000' });
  await prefers('hosted_b');
  b.script = error(503);
  expect(await chat(gateway.url)).toMatchObject({ upstream: 'local', reason: 'hosted_b=http_503' });
  expect(await chat(gateway.url)).toMatchObject({
    upstream: 'local',
    reason: 'hosted_b=circuit_open',
  });
  expect([a.calls.length, b.calls.length]).toEqual([0, 1]);
  expect(gateway.host.snapshot().judgement.verdict).toEqual({ kind: 'serving', by: 'local' });
});

test('a preference ends as soon as the owner ends it', async () => {
  const { gateway, prefers } = await started();
  await prefers('hosted_a');
  const answer = await prefer(gateway, { id: null });
  expect([answer.status, JSON.parse(answer.text)]).toEqual([200, { preferred: null }]);
  expect(await chat(gateway.url)).toMatchObject({ upstream: 'local', reason: 'none' });
});

test('a slow preferred upstream is hedged at local, which is next and costs nothing', async () => {
  const { clock, local, a, b, gateway, prefers } = await started({ TTFT_THRESHOLD_MS: '5000' });
  await prefers('hosted_b');
  b.script = hang;
  const asked = chat(gateway.url, { ...HELLO, stream: true });
  await b.call(1);
  clock.advance(5000);
  expect(await asked).toMatchObject({ upstream: 'local', reason: 'hosted_b=outrun' });
  expect([local.calls.length, a.calls.length]).toEqual([1, 0]);
});

test('a preference spends no money where none may be spent', async () => {
  const { a, gateway, prefers } = await started();
  await prefers('hosted_a');
  const free = { 'x-gateway-force-zero': '1' };
  expect(await chat(gateway.url, HELLO, free)).toMatchObject({
    upstream: 'local',
    reason: 'hosted_a=zero_spend',
  });
  await gateway.set({ routing: { forceZero: true } });
  expect(await chat(gateway.url)).toMatchObject({ upstream: 'local' });
  expect(gateway.host.snapshot().judgement.verdict).toEqual({ kind: 'serving', by: 'local' });
  expectError(await prefer(gateway, { id: 'hosted_b' }), 409, 'zero_spend');
  expect(a.calls).toEqual([]);
});

test('an upstream whose budget is spent is skipped even if it is preferred', async () => {
  const { gateway, prefers } = await started({
    HOSTED_A_PRICE_INPUT: '1000000',
    HOSTED_A_PRICE_OUTPUT: '1000000',
    HOSTED_A_BUDGET_DAY: '0.01',
  });
  await prefers('hosted_a');
  expect(await chat(gateway.url)).toMatchObject({ upstream: 'hosted_a' });
  expect(await chat(gateway.url)).toMatchObject({ upstream: 'local', reason: 'hosted_a=budget' });
});

test('a model that the owner gave a meaning is asked for where it is before the preferred upstream', async () => {
  const { local, gateway, prefers } = await started({
    HOSTED_A_MODEL: 'small',
    HOSTED_B_MODEL: 'big',
    HOSTED_B_MODELS: 'big',
  });
  await prefers('hosted_a');
  // An engine that does not list its models may have any.
  await local.close();
  const body = JSON.stringify({ model: 'big', messages: [{ role: 'user', content: 'hi' }] });
  expect(await chat(gateway.url, body)).toMatchObject({
    upstream: 'hosted_b',
    reason: 'local=unreachable',
  });
  expect(await chat(gateway.url)).toMatchObject({ upstream: 'hosted_a' });
});

test('a preference moves with its service to another place, and ends when it is removed', async () => {
  const { gateway, prefers } = await started();
  await gateway.set({ hosted_c: { baseUrl: 'http://127.0.0.1:9', label: 'Saved' } });
  await prefers('hosted_c');
  await gateway.set({ hosted_c: { label: 'Renamed', model: 'm' } });
  expect((await gateway.status()).preferred?.id).toBe('hosted_c');
  await gateway.set({ hosted_c: { baseUrl: null, label: null, model: null } });
  expect(await gateway.status()).not.toHaveProperty('preferred');
  await gateway.set({ hosted_c: { baseUrl: 'http://127.0.0.1:9' } });
  expect(await gateway.status()).not.toHaveProperty('preferred');
});

test('a preference follows a swap of its upstream', async () => {
  const gateway = await startControlled({});
  await gateway.set({ hosted_a: { baseUrl: 'http://127.0.0.1:9' } });
  expect((await prefer(gateway, { id: 'hosted_a' })).status).toBe(200);
  const path = `${gateway.url}/api/v1/upstreams/hosted_a/swap`;
  expect((await postJson(path, { with: 'hosted_c' }, gateway.control)).status).toBe(200);
  expect((await gateway.status()).preferred?.id).toBe('hosted_c');
});

test('the dashboard learns of a preference when it begins and when its hour is over', async () => {
  const { clock, gateway, prefers } = await started();
  const feed = await readFeed(gateway.url);
  await feed.event(1);
  await prefers('hosted_a');
  clock.advance(1000);
  await feed.received('"preferred":{"id":"hosted_a"');
  const heard = feed.events.length;
  clock.advance(HOUR_MS);
  const last = await feed.event(heard + 1);
  expect(last).toMatchObject({
    status: expect.not.objectContaining({ preferred: expect.anything() as unknown }) as unknown,
  });
});

test('a restart forgets a preference', async () => {
  const directory = temporaryDirectory();
  const settings = { HOSTED_A_BASE_URL: 'http://127.0.0.1:9' };
  const first = await startWithHistory(settings, directory);
  const { control } = controlOf(first);
  expect((await prefer({ url: first.url, control }, { id: 'hosted_a' })).status).toBe(200);
  expect(first.host.snapshot().status.preferred?.id).toBe('hosted_a');
  await first.host.stop(0);
  const second = await startWithHistory(settings, directory);
  expect(second.host.snapshot().status).not.toHaveProperty('preferred');
});

test('a preference for what cannot be preferred is refused with what helps', async () => {
  const { gateway } = await started();
  for (const id of ['local', 'ondemand', 'x', 5, undefined, ['hosted_a']]) {
    const answer = await prefer(gateway, { id });
    expectError(answer, 400, 'invalid_request');
    expect(answer.text).toContain('hosted_a, hosted_b, hosted_c, or null');
  }
  const answer = await prefer(gateway, { id: 'hosted_c' });
  expectError(answer, 409, 'not_configured');
  expect(answer.text).toContain('hosted_c.baseUrl');
  expectError(
    await prefer({ ...gateway, control: {} }, { id: 'hosted_a' }),
    401,
    'control_required',
  );
});

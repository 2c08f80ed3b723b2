import { describe, expect, test } from 'vitest';
import { chat, chatStream, HELLO } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { answers, error, REFUSED_URL, startUpstream, type Upstream } from '../support/upstream.ts';
import { at } from '../support/words.ts';

const NOTHING_SET_UP =
  'local=not_configured; hosted_a=not_configured; hosted_b=not_configured; hosted_c=not_configured; ondemand=not_configured';

const ZERO = { 'x-gateway-force-zero': '1' };

/** An upstream that nobody may ask. */
async function startForbidden(): Promise<Upstream> {
  return startUpstream(answers('never'));
}

describe('requests without any upstream', () => {
  test('a request without a configured upstream gets a 503 that names each one and says what to do', async () => {
    const gateway = await startGateway({});
    const answer = await chat(gateway.url);
    expect(answer).toMatchObject({ status: 503, upstream: 'none', reason: NOTHING_SET_UP });
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'x-should-retry': 'false',
    });
    expect(answer.headers).not.toHaveProperty('retry-after');
    expect(JSON.parse(answer.text)).toEqual({
      error: {
        message:
          "No upstream is configured. Set SWITCHYARD_LOCAL_ENGINE_URL to an engine on this machine, or SWITCHYARD_HOSTED_A_BASE_URL with its key and model, and restart; or use the dashboard's Settings.",
        type: 'server_error',
        code: 'no_upstream',
        param: null,
      },
      src: 'gateway',
    });
  });

  test('a request without a permitted upstream gets a 503 that names each one', async () => {
    const hosted = await startForbidden();
    const gateway = await startGateway(at({ hosted_a: hosted.url, ondemand: hosted.url }));
    const answer = await chat(gateway.url, HELLO, ZERO);
    expect(answer).toMatchObject({ status: 503, upstream: 'none' });
    expect(answer.reason).toBe(
      'local=not_configured; hosted_a=zero_spend; hosted_b=not_configured; hosted_c=not_configured; ondemand=zero_spend',
    );
    expect(JSON.parse(answer.text)).toEqual({
      error: {
        message:
          'No upstream can be tried now. hosted_a: skipped because Local only is on. ondemand: skipped because Local only is on.',
        type: 'server_error',
        code: 'no_upstream',
        param: null,
      },
      src: 'gateway',
    });
    expect(hosted.calls).toHaveLength(0);
    expect(hosted.gets).toHaveLength(0);
  });
});

test('an upstream that is not configured is no fallback reason between two that are', async () => {
  const last = await startUpstream(answers('hi'));
  const gateway = await startGateway(at({ local: REFUSED_URL, hosted_c: last.url }));
  const answer = await chat(gateway.url);
  expect(answer).toMatchObject({ upstream: 'hosted_c', reason: 'local=unreachable' });
});

describe('Local only', () => {
  test.each([
    ['the setting', { FORCE_ZERO: 'true' }, {}],
    ['the setting, whatever the header', { FORCE_ZERO: 'true' }, { 'x-gateway-force-zero': '0' }],
    ['the header of the request', {}, ZERO],
  ])('Local only by %s calls only local and names the others', async (_says, setting, headers) => {
    const paid = await startForbidden();
    const local = await startUpstream(error(503));
    const gateway = await startGateway({
      ...at({ local: local.url, hosted_a: paid.url, hosted_c: paid.url, ondemand: paid.url }),
      ...setting,
    });
    const answer = await chat(gateway.url, HELLO, headers);
    expect(answer).toMatchObject({ status: 503, upstream: 'none' });
    expect(answer.reason).toBe(
      'local=http_503; hosted_a=zero_spend; hosted_c=zero_spend; ondemand=zero_spend',
    );
    expect(JSON.parse(answer.text)).toMatchObject({ error: { code: 'upstream_unavailable' } });
    expect(local.calls).toHaveLength(1);
    expect(paid.calls).toHaveLength(0);
    expect(paid.gets).toHaveLength(0);
  });

  test('Local only changes nothing where local answers', async () => {
    const local = await startUpstream(answers('hi'));
    const gateway = await startGateway(at({ local: local.url, hosted_a: 'http://127.0.0.1:9' }));
    expect(await chat(gateway.url, HELLO, ZERO)).toMatchObject({
      status: 200,
      upstream: 'local',
      reason: 'none',
    });
  });

  test.each(['0', 'false', ''])(
    'Local only is not switched on by the header value "%s"',
    async (value) => {
      const hosted = await startUpstream(answers('hi'));
      const gateway = await startGateway(at({ hosted_a: hosted.url }));
      const answer = await chat(gateway.url, HELLO, { 'x-gateway-force-zero': value });
      expect(answer).toMatchObject({ status: 200, upstream: 'hosted_a', reason: 'none' });
    },
  );

  test('Local only of one request does not outlast it', async () => {
    const hosted = await startUpstream(answers('hi'));
    const gateway = await startGateway(at({ hosted_a: hosted.url }));
    await chat(gateway.url, HELLO, ZERO);
    expect(await chat(gateway.url)).toMatchObject({ status: 200, upstream: 'hosted_a' });
  });
});

test('a failure that counts in the circuit alone does not exclude the upstream', async () => {
  const a = await startUpstream(error(503), answers('back'));
  const gateway = await startGateway(at({ hosted_a: a.url }));
  expect((await chatStream(gateway.url)).reason).toBe('hosted_a=http_503');
  expect((await chatStream(gateway.url)).reason).toBe('none');
});

test.each([
  ['credentials', error(401)],
  ['quota', error(402)],
  ['rate_limited', error(429)],
])('an upstream that was left for %s is not called by the next request', async (reason, script) => {
  const a = await startUpstream(script);
  const b = await startUpstream(answers('hi'));
  const gateway = await startGateway(at({ hosted_a: a.url, hosted_b: b.url }));
  const first = await chatStream(gateway.url);
  const second = await chatStream(gateway.url);
  expect([first.reason, second.reason]).toEqual([`hosted_a=${reason}`, `hosted_a=${reason}`]);
  expect(a.calls).toHaveLength(1);
});

import { describe, expect, test } from 'vitest';
import { chat, HELLO } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { answers, startUpstream, type Upstream } from '../support/upstream.ts';
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
          "No source is set up. Open the dashboard's Settings, or set local.baseUrl (INGLENOOK_LOCAL_ENGINE_URL) to an engine on this machine.",
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
          'No source can be tried now. hosted_a: skipped because “Never spend money” is on. ondemand: skipped because “Never spend money” is on.',
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

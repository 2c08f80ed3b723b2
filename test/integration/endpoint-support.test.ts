import { describe, expect, test } from 'vitest';
import { createManualClock } from '../support/clock.ts';
import { chat, startCall } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { WHOLE_PROTOCOLS } from '../support/protocols.ts';
import { counted } from '../support/report.ts';
import { answers, error, json, startUpstream } from '../support/upstream.ts';
import { at } from '../support/words.ts';

const SERVED_OTHERWISE = ['chat completions', 'responses', 'messages', 'count_tokens'];
/** Endpoints that nothing can stand in for. */
const OTHERS = WHOLE_PROTOCOLS.filter(({ name }) => !SERVED_OTHERWISE.includes(name));
const TEN_MINUTES_MS = 600_000;

describe.each(OTHERS.map((protocol) => [protocol.name, protocol] as const))(
  'an upstream without %s',
  (_name, { path, body, whole }) => {
    test.each([404, 405, 501])(
      'an upstream that answers %i to an endpoint is skipped for it for ten minutes, and its circuit does not count it',
      async (status) => {
        const a = await startUpstream(error(status, 'Not Found'));
        const b = await startUpstream(json(200, whole));
        const clock = createManualClock();
        const gateway = await startGateway(at({ hosted_a: a.url, hosted_b: b.url }), clock);
        const ask = () => startCall(gateway.url + path, body).answer;
        for (let n = 0; n < 3; n += 1) {
          const answer = await ask();
          expect(answer).toMatchObject({ status: 200, reason: 'hosted_a=unsupported' });
        }
        expect(a.calls).toHaveLength(1);
        expect(await counted(gateway, 'hosted_a')).toEqual({ fails: 0, successes: 0 });
        a.script = answers('hi');
        expect(await chat(gateway.url)).toMatchObject({ status: 200, upstream: 'hosted_a' });
        clock.advance(TEN_MINUTES_MS);
        a.script = json(200, whole);
        expect(await ask()).toMatchObject({ upstream: 'hosted_a', reason: 'none' });
      },
    );

    test('a caller gets a 404 that says so if no upstream has the endpoint', async () => {
      const a = await startUpstream(error(404, 'Not Found'));
      const gateway = await startGateway(at({ hosted_a: a.url }));
      for (let n = 0; n < 2; n += 1) {
        const answer = await startCall(gateway.url + path, body).answer;
        expect(JSON.parse(answer.text)).toMatchObject({ error: { code: 'unsupported_endpoint' } });
        expect(answer.text).toContain('hosted_a: does not have this endpoint');
        expect([answer.status, answer.upstream]).toEqual([404, 'none']);
      }
    });

    test('a missing endpoint does not hide that another upstream failed', async () => {
      const a = await startUpstream(error(503));
      const b = await startUpstream(error(404, 'Not Found'));
      const gateway = await startGateway(at({ hosted_a: a.url, hosted_b: b.url }));
      const answer = await startCall(gateway.url + path, body).answer;
      expect([answer.status, answer.reason]).toEqual([
        503,
        'hosted_a=http_503; hosted_b=unsupported',
      ]);
    });
  },
);

test('a missing model or a missing response is not a missing endpoint', async () => {
  const a = await startUpstream(error(404, 'The model `m` does not exist.'));
  const gateway = await startGateway(at({ hosted_a: a.url }));
  const ask = () => startCall(`${gateway.url}/v1/responses`, { model: 'n', input: 'hi' }).answer;
  expect((await ask()).reason).toBe('hosted_a=model_not_found');
  a.script = error(404, "Response with id 'resp_1' not found.");
  for (let n = 0; n < 2; n += 1) {
    const request = { model: 'm', input: 'hi', previous_response_id: 'resp_1' };
    const answer = await startCall(`${gateway.url}/v1/responses`, request).answer;
    expect(answer).toMatchObject({ status: 404, upstream: 'hosted_a' });
    expect(answer.text).toContain('resp_1');
  }
  expect(a.calls).toHaveLength(3);
});

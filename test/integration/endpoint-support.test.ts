import { describe, expect, test } from 'vitest';
import { chat, expectServed, startCall } from '../support/client.ts';
import { WHOLE_PROTOCOLS } from '../support/protocols.ts';
import { counted } from '../support/report.ts';
import { answers, error, json } from '../support/upstream.ts';
import { startBefore, startStill } from '../support/scene.ts';

const SERVED_OTHERWISE = ['chat completions', 'responses', 'messages', 'count_tokens'];
/** Endpoints that nothing can stand in for. */
const OTHERS = WHOLE_PROTOCOLS.filter(({ name }) => !SERVED_OTHERWISE.includes(name));
const TEN_MINUTES_MS = 600_000;

describe.each(OTHERS)('an upstream without $name', ({ path, body, whole }) => {
  test.each([404, 405, 501])(
    'an upstream that answers %i to an endpoint is skipped for it for ten minutes, and its circuit does not count it',
    async (status) => {
      const { gateway, a, clock } = await startStill({
        a: error(status, 'Not Found'),
        b: json(200, whole),
      });
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
      expectServed(await ask(), 'hosted_a');
    },
  );

  test('a caller gets a 404 that says so if no upstream has the endpoint', async () => {
    const { gateway } = await startBefore({ a: error(404, 'Not Found') });
    for (let n = 0; n < 2; n += 1) {
      const answer = await startCall(gateway.url + path, body).answer;
      expect(JSON.parse(answer.text)).toMatchObject({ error: { code: 'unsupported_endpoint' } });
      expect(answer.text).toContain('hosted_a does not have this endpoint');
      expect([answer.status, answer.upstream]).toEqual([404, 'none']);
    }
  });

  test('a missing endpoint does not hide that another upstream failed', async () => {
    const { gateway } = await startBefore({ a: error(503), b: error(404, 'Not Found') });
    const { status, reason } = await startCall(gateway.url + path, body).answer;
    expect([status, reason]).toEqual([503, 'hosted_a=http_503; hosted_b=unsupported']);
  });
});

test('a missing model or a missing response is not a missing endpoint', async () => {
  const { gateway, a } = await startBefore({ a: error(404, 'The model `m` does not exist.') });
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

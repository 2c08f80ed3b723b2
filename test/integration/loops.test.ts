import { expect, test } from 'vitest';
import { loadConfig } from '../../main/config/load.ts';
import { chat, expectServed, HELLO } from '../support/client.ts';
import { startControlled } from '../support/control.ts';
import { startGateway } from '../support/gateway.ts';
import { expectError, OUTER_ADDRESS } from '../support/http.ts';
import { answers } from '../support/upstream.ts';
import { at } from '../support/words.ts';
import { startBefore } from '../support/scene.ts';

test('a request that comes back to its gateway gets a 508 there, and falls back', async () => {
  // With any free port the check of the settings does not know the own address.
  const { gateway, a } = await startBefore({ a: answers('from hosted') });
  await gateway.set({ local: { baseUrl: gateway.url } });
  const answer = await chat(gateway.url);
  expectServed(answer, 'hosted_a', 'local=http_508');
  expect(a.calls).toHaveLength(1);
  const hops = String(a.calls[0]?.headers['x-gateway-hops']);
  const returned = await chat(gateway.url, HELLO, { 'x-gateway-hops': hops });
  expect(returned).toMatchObject({ status: 508, upstream: 'none' });
  expect(returned.text).toContain('"code":"loop_detected"');
});

test('a gateway’s own address is refused when it is set, with the reason', async () => {
  const gateway = await startControlled({});
  const refused = await gateway.patch({ agent: { engineUrl: 'http://localhost:3001' } });
  const message = expectError(refused, 400, 'invalid_request', 'agent.engineUrl');
  expect(message).toContain('agent itself');
});

test('gateways may be behind each other, but not without end', async () => {
  const { gateway: second, local } = await startBefore({ local: answers('x') });
  const first = await startGateway(at({ local: second.url }));
  expect(await chat(first.url)).toMatchObject({ status: 200 });
  const hops = String(local.calls[0]?.headers['x-gateway-hops']).split(',');
  expect(new Set(hops).size).toBe(2);
  const tooMany = await chat(first.url, HELLO, { 'x-gateway-hops': 'a, b, c, d, e' });
  expect(tooMany).toMatchObject({ status: 508, upstream: 'none' });
});

const HOSTS = ['127.0.0.1', 'localhost', '[::1]', '0.0.0.0', '127.1', OUTER_ADDRESS];

test.each(HOSTS.filter((host) => host !== undefined))(
  'a gateway’s own port on %s is refused as an upstream at the start, with the reason',
  (host) => {
    for (const name of ['LOCAL_ENGINE_URL', 'HOSTED_B_BASE_URL', 'ONDEMAND_BASE_URL']) {
      const variable = `INGLENOOK_${name}`;
      const env = { INGLENOOK_PORT: '50123', [variable]: `http://${host}:50123/v1` };
      const problems = [expect.stringMatching(new RegExp(`^${variable} .*gateway itself`))];
      expect(loadConfig(env, {})).toMatchObject({ kind: 'refused', problems });
    }
  },
);

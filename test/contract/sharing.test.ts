import { expect, test } from 'vitest';
import { startControlled } from '../support/control.ts';
import { bearer, expectError, OUTER_ADDRESS, send } from '../support/http.ts';

async function started(settings: Record<string, string> = {}) {
  const gateway = await startControlled(settings);
  const share = (host: unknown) => gateway.call('PUT', 'sharing', host);
  const hostNow = async () => (await gateway.read<{ host: string }>('sharing')).host;
  return { ...gateway, share, hostNow };
}

const KEY = { API_KEYS: 'a-key-of-my-own-0123456789' };

test('the addresses of the machine are listed with their interfaces, for control only', async () => {
  const { url, read } = await started();
  const { addresses, ...rest } = await read<Record<string, unknown>>('sharing');
  expect(rest).toEqual({ host: '127.0.0.1', url, isShared: false });
  const listed = (addresses as readonly { address: string; interfaceName: string }[]).filter(
    ({ interfaceName }) => interfaceName !== '',
  );
  const has = listed.some(({ address }) => address === OUTER_ADDRESS);
  expect(has).toBe(OUTER_ADDRESS !== undefined);
  expectError(await send(`${url}/api/v1/sharing`, {}), 401, 'control_required');
});

test('the gateway is not shared without a key', async () => {
  const { share, hostNow } = await started();
  const answer = await share({ host: OUTER_ADDRESS ?? '192.0.2.1' });
  expect(expectError(answer, 400, 'invalid_request')).toContain('INGLENOOK_API_KEYS');
  expect(await hostNow()).toBe('127.0.0.1');
});

test('an address that this machine does not have is refused, and not saved', async () => {
  const { share, hostNow } = await started(KEY);
  const answer = await share({ host: '203.0.113.7' });
  expect(expectError(answer, 409, 'cannot_listen')).toBe(
    'This machine has no address 203.0.113.7.',
  );
  expect(await hostNow()).toBe('127.0.0.1');
});

test.each([{}, { host: 7 }, { host: ' ' }])(
  'the body %j names no host and is refused',
  async (body) => {
    const { share } = await started(KEY);
    const message = expectError(await share(body), 400, 'invalid_request');
    expect(message).toContain("'host'");
  },
);

test('a host that the environment sets stays', async () => {
  const { share } = await started({ ...KEY, HOST: '127.0.0.1' });
  const answer = await share({ host: '127.0.0.1' });
  expect(expectError(answer, 409, 'set_by_environment')).toContain('INGLENOOK_HOST');
});

test.skipIf(OUTER_ADDRESS === undefined)(
  'a shared gateway refuses everybody once its last key is revoked, even before it is closed',
  async () => {
    const { url, call, key: newKey, set, share } = await started();
    const key = await newKey('network');
    const host = OUTER_ADDRESS ?? '';
    const shared = await share({ host });
    const outside = `http://${host}:${new URL(url).port}`;
    expect(JSON.parse(shared.text)).toEqual({ applied: 'now', url: outside });
    const models = (headers = {}) => send(`${outside}/v1/models`, { headers });
    expect((await models(bearer(key))).status).toBe(200);
    expect((await send(`${url}/v1/models`, { headers: bearer(key) })).status).toBe(200);
    await set({ gateway: { host: '127.0.0.1' } });
    expect((await call('DELETE', 'keys/network')).status).toBe(200);
    expectError(await models(), 401, 'missing_api_key');
  },
);

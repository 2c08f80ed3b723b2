import { request, type IncomingMessage } from 'node:http';
import { providerListSchema } from '#shared/provider.ts';
import { expect, test } from 'vitest';
import { UNTESTED } from './fake-provider.ts';
import { send } from '../support/http.ts';
import { createAgent, createTestStore, recordOf } from './world.ts';
import { startWire } from './wire.ts';

const COUNT = 500;

/** A registry with so many providers that its list does not go out in one piece. */
async function startLong() {
  const { publicKey } = createAgent({ now: () => 0 });
  const store = createTestStore();
  await store.write(
    Array.from({ length: COUNT }, (_, index) => ({
      kind: 'provider',
      provider: {
        id: `prv_${index.toString(16).padStart(32, '0')}`,
        publicKey,
        tokenSalt: 'salt',
        enrolledAt: index,
        sequence: 1,
        // Text beyond one byte a character: lengths are of bytes.
        record: recordOf({ region: 'Zürich ✓' }),
        lastHeartbeatAt: Date.UTC(2026, 0, 1),
        lastHeartbeatIp: '192.168.1.20',
        heartbeatCount: 1,
        verification: UNTESTED,
      },
    })),
  );
  const world = await startWire({ store });
  return { ...world, list: `${world.url}/api/v1/providers` };
}

test('a long list arrives whole, with the headers of a short one', async () => {
  const { list, bugs } = await startLong();
  const whole = await send(list);
  expect(whole).toMatchObject({
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
  });
  const { data, count } = providerListSchema.parse(JSON.parse(whole.text));
  expect([data.length, count, new Set(data.map(({ id }) => id)).size]).toEqual([
    COUNT,
    COUNT,
    COUNT,
  ]);
  expect(data.at(-1)?.region).toBe('Zürich ✓');
  const { etag = '' } = whole.headers;
  expect((await send(list, { headers: { 'if-none-match': etag } })).status).toBe(304);
  expect(await send(list, { method: 'HEAD' })).toMatchObject({ status: 200, text: '' });
  expect((await send(`${list}?limit=50`)).headers['content-length']).toMatch(/^\d+$/);
  expect(bugs).toEqual([]);
});

test('a reader of a long list that leaves in the middle does no harm', async () => {
  const { list, bugs } = await startLong();
  const res = await new Promise<IncomingMessage>((resolve, reject) => {
    request(list, resolve).on('error', reject).end();
  });
  await new Promise((resolve) => res.once('data', resolve));
  const closed = new Promise((resolve) => res.once('close', resolve));
  res.destroy();
  await closed;
  expect((await send(list)).status).toBe(200);
  expect(bugs).toEqual([]);
});

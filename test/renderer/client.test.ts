import { expect, test } from 'vitest';
import { answerOf, createClient } from '../../renderer/api/client.ts';

interface Call {
  readonly path: string;
  readonly authorization: string | null;
  readonly body: string;
}

function setUp(answer: (call: Call) => Response, token?: string) {
  const kept = new Map(token === undefined ? [] : [['inglenook.session', token]]);
  const calls: Call[] = [];
  const client = createClient({
    fetch: async (path, init) => {
      const body = typeof init.body === 'string' ? init.body : '';
      const call = { path, authorization: new Headers(init.headers).get('authorization'), body };
      calls.push(call);
      return answer(call);
    },
    storage: {
      getItem: (key) => kept.get(key) ?? null,
      setItem: (key, value) => void kept.set(key, value),
      removeItem: (key) => void kept.delete(key),
    },
  });
  return { client, calls };
}

const refused = () => Response.json({ error: { message: 'This code was used.' } }, { status: 401 });

test('the dashboard sends its session; a refused one is dropped and the call is made again without it', async () => {
  const { client, calls } = setUp(
    ({ authorization }) => (authorization ? refused() : new Response()),
    'stale',
  );
  const response = await client.request('/api/v1/events');
  expect(response.status).toBe(200);
  expect(calls.map(({ authorization }) => authorization)).toEqual(['Bearer stale', null]);
  expect(client.hasSession()).toBe(false);
});

test('a refused call without a session is not made again', async () => {
  const { client, calls } = setUp(refused);
  expect((await client.request('/api/v1/events')).status).toBe(401);
  expect(calls).toHaveLength(1);
});

test('a sign-in code becomes a session', async () => {
  const { client, calls } = setUp(() => Response.json({ token: 'fresh' }));
  expect(await client.redeem('once')).toBeNull();
  expect(calls[0]).toMatchObject({ path: '/api/v1/sessions', body: '{"code":"once"}' });
  expect(client.hasSession()).toBe(true);
});

test('a refused sign-in code returns the gateway’s own words and keeps the session', async () => {
  const { client } = setUp(refused, 'tok');
  expect(await client.redeem('twice')).toBe('This code was used.');
  expect(client.hasSession()).toBe(true);
});

test('an answer and a refusal have the hidden characters of a name as their codes', async () => {
  const [name, shown] = ['rig\u202E\u001b[2J', 'rig⟨U+202E⟩⟨U+001B⟩[2J'];
  expect(await answerOf(Response.json({ name }))).toEqual({ ok: true, value: { name: shown } });
  const refusal = Response.json({ error: { message: name } }, { status: 400 });
  expect(await answerOf(refusal)).toMatchObject({ ok: false, refusal: { message: shown } });
});

test('a gateway that is out of reach is a failed call, not an exception', async () => {
  const { client } = setUp(() => {
    throw new TypeError('network');
  });
  expect(await client.redeem('once')).toMatch(/did not answer/);
});

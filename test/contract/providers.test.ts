import { request } from 'node:http';
import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  providerEventSchema,
  providerListSchema,
  providerSchema,
  type ProviderList,
} from '#shared/provider.ts';
import { systemClock } from '../../main/platform/clock.ts';
import { createManualClock } from '../support/clock.ts';
import { expectError, send } from '../support/http.ts';
import { createAgent, ENROLL, HEARTBEAT, recordOf } from '../registry/world.ts';
import { CONTROL, startWire, type WireWorld } from '../registry/wire.ts';

const LIST = '/api/v1/providers';
const UNKNOWN = `prv_${'0'.repeat(32)}`;

/** A token of the owner's for one machine. */
const enrollment = ({ url }: WireWorld) =>
  send(`${url}${LIST}/enrollments`, { method: 'POST', headers: CONTROL });

/** Joins a machine over the wire and sends its first heartbeat. */
async function joined(wire: WireWorld) {
  const agent = createAgent(wire.clock);
  const { token } = JSON.parse((await enrollment(wire)).text) as { token: string };
  const answer = await wire.post(agent.enroll(token));
  expect(answer.status).toBe(200);
  expect(await wire.post(agent.heartbeat(recordOf()))).toMatchObject({ status: 200 });
  return agent;
}

const listOf = async (wire: WireWorld): Promise<ProviderList> => {
  const answer = await send(`${wire.url}${LIST}`);
  expect(answer).toMatchObject({ status: 200 });
  const json = JSON.parse(answer.text) as unknown;
  const list = providerListSchema.parse(json);
  // The records' inner objects drop what they do not know: nothing may be dropped.
  expect(list).toEqual(json);
  return list;
};

test('a machine goes from a new token to the list by the documents of the protocol', async () => {
  const wire = await startWire();
  const agent = createAgent(wire.clock);
  const made = await enrollment(wire);
  expect(made.status).toBe(201);
  const { token, ...rest } = JSON.parse(made.text) as { token: string };
  expect(token).toMatch(/^[0-9a-f]{64}$/);
  expect(wire.store.state().enrollments).toHaveLength(1);
  expect(JSON.stringify(wire.store.state())).not.toContain(token);
  expect(rest).toEqual({
    expires_at: '2026-01-01T01:00:00.000Z',
    join: `inglenook join http://gateway:47900 ${token}`,
  });
  const enrolled = await wire.post(agent.enroll(token));
  expect([enrolled.status, JSON.parse(enrolled.text)]).toEqual([
    200,
    { id: agent.id, gateway_token: expect.stringMatching(/^[0-9a-f]{64}$/), heartbeat_ms: 15_000 },
  ]);
  const beat = await wire.post(agent.heartbeat(recordOf()));
  expect([beat.status, JSON.parse(beat.text)]).toEqual([
    200,
    {
      id: agent.id,
      status: 'serving',
      verification: { status: 'pending', routable: false, failure_reason: '' },
      heartbeat_ms: 15_000,
    },
  ]);
  const list = await listOf(wire);
  expect(list).toMatchObject({ count: 1, pending: 1, verified: 0, verifying: 0, failed: 0 });
  expect(list.data[0]).toMatchObject({ id: agent.id, last_heartbeat_ip: '127.0.0.1' });
  const one = await send(`${wire.url}${LIST}/${agent.id}`);
  expect(JSON.parse(one.text)).toEqual(list.data[0]);
  expect(providerSchema.parse(JSON.parse(one.text))).toEqual(list.data[0]);
  expect(wire.bugs).toEqual([]);
});

test('a message of another time gets 401 clock_skew, with the time of the registry', async () => {
  const clock = { ...createManualClock(), now: () => systemClock.now() };
  const wire = await startWire({ clock });
  const agent = await joined(wire);
  const createdS = Math.floor(clock.now() / 1000) - 500;
  const late = agent.message(HEARTBEAT, Buffer.from(JSON.stringify(recordOf())), { createdS });
  const answer = await wire.post(late);
  expectError(answer, 401, 'clock_skew');
  expect(Math.abs(Date.parse(answer.headers.date ?? '') - clock.now())).toBeLessThan(60_000);
});

test('a repeated message gets 403 sequence_reused, with the last one accepted', async () => {
  const wire = await startWire();
  const agent = await joined(wire);
  agent.sequence -= 1;
  const answer = await wire.post(agent.heartbeat(recordOf()));
  expectError(answer, 403, 'sequence_reused');
  expect(answer.headers['x-gateway-sequence']).toBe('2');
});

test('a message that cannot be written gets 503 registry_unwritten, with when to come back', async () => {
  const wire = await startWire();
  const agent = await joined(wire);
  wire.store.fail('the disk is full');
  for (const answer of [
    await wire.post(agent.heartbeat(recordOf())),
    await enrollment(wire),
    await send(`${wire.url}${LIST}/${agent.id}`, { method: 'DELETE', headers: CONTROL }),
  ]) {
    expect(expectError(answer, 503, 'registry_unwritten')).toBe('the disk is full');
    expect(answer.headers['retry-after']).toBe('5');
  }
});

test.each([ENROLL, HEARTBEAT])(
  'a message to %s beyond 64 KiB gets 413 body_too_large',
  async (path) => {
    const wire = await startWire();
    const agent = createAgent(wire.clock);
    const exact = await wire.post(agent.message(path, Buffer.alloc(65_536, 0x20)));
    expect(exact.status).not.toBe(413);
    const over = await wire.post(agent.message(path, Buffer.alloc(65_537, 0x20)));
    expect(expectError(over, 413, 'body_too_large')).toContain('65536');
  },
);

test('a message whose announced body is too large gets 413 before the body comes', async () => {
  const { url } = await startWire();
  const status = await new Promise((resolve, reject) => {
    const headers = { 'content-length': '10000000' };
    const req = request(url + HEARTBEAT, { method: 'POST', agent: false, headers }, (res) => {
      resolve(res.statusCode);
      req.destroy();
    });
    req.on('error', reject);
    req.flushHeaders();
  });
  expect(status).toBe(413);
});

test('a message whose body is compressed gets 415', async () => {
  const wire = await startWire();
  const message = createAgent(wire.clock).heartbeat(recordOf());
  const headers = { ...message.headers, 'content-encoding': 'gzip' };
  const answer = await wire.post({ ...message, headers });
  expect(expectError(answer, 415, 'unsupported_media_type')).toContain('compressed');
});

const GARBAGE = {
  'signature-input': '\u00ff;;;',
  signature: '=',
  'content-digest': ':',
  'x-gateway-sequence': 'NaN',
};

test.each([
  ['no header at all', {}],
  ['garbage', GARBAGE],
])('a message with %s is refused and nothing breaks', async (_what, headers) => {
  const wire = await startWire();
  await joined(wire);
  for (const body of ['', '{}', '{"__proto__":{"a":1}}', '['.repeat(60_000)]) {
    const answer = await send(wire.url + HEARTBEAT, { method: 'POST', headers, body });
    expectError(answer, 401, 'invalid_signature');
  }
  expect(wire.bugs).toEqual([]);
});

test('the query is not part of the signed path', async () => {
  const wire = await startWire();
  const agent = await joined(wire);
  const message = agent.heartbeat(recordOf());
  expect((await wire.post({ ...message, path: `${HEARTBEAT}?x=1` })).status).toBe(200);
});

test.each(['status=on', 'verification=yes', 'limit=0', 'offset=-1', 'limit=1&limit=2'])(
  'the list of providers refuses ?%s by the name of the parameter',
  async (query) => {
    const { url } = await startWire();
    const answer = await send(`${url}${LIST}?${query}`);
    const [name = ''] = query.split('=');
    expect(expectError(answer, 400, 'invalid_request', name)).toContain(name);
  },
);

test('the history of a machine comes newest first', async () => {
  const wire = await startWire();
  const { id } = await joined(wire);
  await wire.verify(id);
  const schema = z.strictObject({ object: z.literal('list'), data: z.array(providerEventSchema) });
  const answer = await send(`${wire.url}${LIST}/${id}/history`);
  const events = schema.parse(JSON.parse(answer.text)).data;
  expect(events.map(({ kind, text }) => `${kind} ${text}`)).toEqual([
    'verification verified',
    'status serving',
    'enrolled from 127.0.0.1',
  ]);
});

test.each([
  ['GET', UNKNOWN],
  ['GET', `${UNKNOWN}/history`],
  ['POST', `${UNKNOWN}/verify`],
  ['DELETE', UNKNOWN],
  ['GET', 'x'.repeat(5000)],
  ['GET', '__proto__'],
  ['GET', '%00'],
  ['DELETE', 'constructor'],
])('a %s of an unknown provider (%.20s) is a 404', async (method, path) => {
  const { url, bugs } = await startWire();
  const answer = await send(`${url}${LIST}/${path}`, { method, headers: CONTROL });
  expect(expectError(answer, 404, 'provider_not_found').length).toBeLessThan(250);
  expect(bugs).toEqual([]);
});

test('agents need no key, because they sign', async () => {
  const wire = await startWire({ apiKeys: ['k'.repeat(32)] });
  const agent = await joined(wire);
  expect((await wire.post(agent.heartbeat(recordOf()))).status).toBe(200);
});

test('no secret is in any answer of the registry that is not for its owner', async () => {
  const wire = await startWire();
  const agent = await joined(wire);
  await wire.verify(agent.id);
  const [target] = wire.registry.targets();
  const seen = [
    await send(wire.url + LIST),
    await send(`${wire.url}${LIST}/${agent.id}`),
    await send(`${wire.url}${LIST}/${agent.id}/history`),
    await wire.post(agent.heartbeat(recordOf())),
  ].map(({ text }) => text);
  expect(target?.gatewayToken).toMatch(/^[0-9a-f]{64}$/);
  expect(seen.join('')).not.toContain(target?.gatewayToken);
  expect(seen.join('')).not.toContain(wire.store.state().providers[0]?.tokenSalt);
});

test('the list of providers is not sent again to a reader that has it', async () => {
  const wire = await startWire();
  const agent = await joined(wire);
  const { headers } = await send(wire.url + LIST);
  const etag = headers.etag ?? '';
  for (const known of [etag, etag.replace('W/', ''), `"other", ${etag}`, '*']) {
    const answer = await send(wire.url + LIST, { headers: { 'if-none-match': known } });
    expect([answer.status, answer.text, answer.headers.etag]).toEqual([304, '', etag]);
  }
  const other = await send(wire.url + LIST, { headers: { 'if-none-match': '"other"' } });
  expect(other.status).toBe(200);
  await wire.post(agent.heartbeat(recordOf()));
  const changed = await send(wire.url + LIST, { headers: { 'if-none-match': etag } });
  expect([changed.status, changed.headers.etag === etag]).toEqual([200, false]);
});

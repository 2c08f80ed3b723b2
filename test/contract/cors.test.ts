import { expect, test } from 'vitest';
import { systemClock } from '../../main/platform/clock.ts';
import type { Log } from '../../main/platform/log.ts';
import { HELLO } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { expectError, postJson, send } from '../support/http.ts';
import { answers } from '../support/upstream.ts';
import { startBefore } from '../support/scene.ts';

const CHAT = '/v1/chat/completions';

const preflightOf = (origin: string, more: Record<string, string> = {}) => ({
  method: 'OPTIONS',
  headers: { origin, 'access-control-request-method': 'POST', ...more },
});

test.each([
  ['http://localhost:*', 'http://localhost:3000', true],
  ['http://localhost:*', 'http://localhost', true],
  ['http://localhost:*', 'https://localhost:3000', false],
  ['http://localhost:*', 'http://localhost.evil.test:3000', false],
  ['http://localhost:*', 'http://localhost:evil.test', false],
  ['http://localhost:*', 'http://evil.test/http://localhost:1', false],
  ['https://Chat.Example.com', 'https://chat.example.com', true],
  ['https://chat.example.com', 'http://chat.example.com', false],
  ['https://chat.example.com', 'https://chat.example.com:8443', false],
  ['https://chat.example.com', 'https://example.com', false],
  ['https://chat.example.com', 'null', false],
  ['app://obsidian.md', 'app://obsidian.md', true],
  ['app://obsidian.md', 'app://other.md', false],
  ['tauri://localhost', 'tauri://localhost', true],
  ['capacitor://*', 'capacitor://localhost', true],
  ['capacitor://*', 'capacitors://localhost', false],
  ['chrome-extension://*', 'chrome-extension://abcdef', true],
])('the setting ALLOWED_ORIGINS=%s admits a page of %s: %s', async (allowed, origin, isAllowed) => {
  const { url, a } = await startBefore(
    { a: answers('hi') },
    { ALLOWED_ORIGINS: `https://first.test,${allowed}` },
  );
  const asked = await send(url + CHAT, preflightOf(origin));
  const answered = await postJson(url + CHAT, HELLO, { origin });
  expect([asked.status, answered.status]).toEqual(isAllowed ? [204, 200] : [403, 403]);
  for (const { headers } of [asked, answered])
    expect(headers['access-control-allow-origin']).toBe(isAllowed ? origin : undefined);
  expect(a.calls).toHaveLength(isAllowed ? 1 : 0);
});

test('a refused page gets its origin and the setting that would let it in', async () => {
  const { url } = await startGateway({});
  const origin = 'http://localhost:5173';
  const calls = [
    await send(url + CHAT, preflightOf(origin)),
    await postJson(url + CHAT, HELLO, { origin }),
    await send(`${url}/v1/models`, { headers: { origin } }),
  ];
  for (const refused of calls) {
    const message = expectError(refused, 403, 'origin_not_allowed');
    expect(message).toContain(`INGLENOOK_ALLOWED_ORIGINS=${origin}`);
    expect(refused.headers).not.toHaveProperty('access-control-allow-origin');
  }
});

test('the log names each refused origin once, and at most 100 of them', async () => {
  const lines: string[] = [];
  const log: Log = (level, event, fields) => {
    if (event === 'origin_refused') lines.push(`${level} ${fields?.['origin']}`);
  };
  const { url } = await startGateway({}, systemClock, log);
  const ask = (origin: string) => send(`${url}/v1/models`, { headers: { origin } });
  await ask('https://a.test');
  await ask('https://b.test');
  await send(url + CHAT, preflightOf('https://a.test'));
  expect(lines).toEqual(['warn https://a.test', 'warn https://b.test']);
  for (let n = 0; n < 200; n += 1) await ask(`https://page-${n}.test/${'x'.repeat(500)}`);
  expect(lines).toHaveLength(100);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(120);
});

test('an allowed public page may reach this machine if the browser asks for that too', async () => {
  const origin = 'https://chat.example.com';
  const { url } = await startGateway({ ALLOWED_ORIGINS: origin });
  const more = { 'access-control-request-private-network': 'true' };
  const { headers } = await send(url + CHAT, preflightOf(origin, more));
  expect(headers['access-control-allow-private-network']).toBe('true');
  const plain = await send(url + CHAT, preflightOf(origin));
  expect(plain.headers).not.toHaveProperty('access-control-allow-private-network');
  const foreign = await send(url + CHAT, preflightOf('https://evil.test', more));
  expect(foreign.headers).not.toHaveProperty('access-control-allow-private-network');
});

import { expect, test } from 'vitest';
import { systemClock } from '../../main/platform/clock.ts';
import type { Log } from '../../main/platform/log.ts';
import { createAgent, recordOf } from '../registry/world.ts';
import { readFeed } from '../support/feed.ts';
import { postJson, send } from '../support/http.ts';
import { startOwned } from '../support/owned-gateway.ts';
import { sayHere } from '../support/owned-gateway.ts';
import { controlOf } from '../support/tier.ts';

const WORD = 'hunter2';

/** An owner who wrote a password into an address did not mean it for everybody who can read the list. */
const ADDRESSES = [
  `http://us${WORD}er:${WORD}@127.0.0.1:1`,
  `http://${WORD}@127.0.0.1:1/a/path?key=1`,
  `http:\\\\us:${WORD}@127.0.0.1:1`,
  `us:${WORD}@127.0.0.1:1`,
  ` ftp://us:${WORD}@127.0.0.1:1`,
  `http://us:${WORD}@not a name:1`,
];

test('a user name or password in an agent’s address is shown nowhere', async () => {
  const lines: string[] = [];
  const log: Log = (...line) => void lines.push(JSON.stringify(line));
  const gateway = await startOwned({ AGENT: 'false' }, systemClock, log);
  const { control, provider } = controlOf(gateway);
  const feed = await readFeed(gateway.url);
  const seen: string[] = [];
  const get = async (path: string) => {
    const { text, headers } = await send(gateway.url + path, { headers: control });
    seen.push(text, JSON.stringify(headers));
    return text;
  };
  const joined = async (url: string): Promise<string> => {
    const made = await postJson(`${gateway.url}/api/v1/providers/enrollments`, {}, control);
    const { token } = JSON.parse(made.text) as { token: string };
    const agent = createAgent(systemClock);
    const host = { ...recordOf().host, hostname: '', tailnet_hostname: null };
    const record = recordOf({ agent_url: url, host });
    const tell = async ({ path, headers, body }: ReturnType<typeof agent.enroll>) => {
      const sent = { headers: headers as Record<string, string>, body: String(body) };
      const answer = await send(gateway.url + path, { method: 'POST', ...sent });
      seen.push(answer.text);
      return answer.status;
    };
    expect(await tell(agent.enroll(token))).toBe(200);
    expect(await tell(agent.heartbeat(record))).toBe(200);
    await expect.poll(async () => (await provider(agent.id)).verification.status).toBe('failed');
    const changed = { ...record, models: ['third'], current_model: 'third' };
    expect(await tell(agent.heartbeat(changed))).toBe(200);
    expect(await tell(agent.heartbeat({ ...record, models: 7 }))).toBe(400);
    expect(await tell(agent.heartbeat({ ...record, agent_url: [url] }))).toBe(400);
    return agent.id;
  };
  const ids: string[] = [];
  for (const url of ADDRESSES) ids.push(await joined(url));
  const list = await get('/api/v1/providers');
  for (const path of [
    `/api/v1/providers?q=${WORD}`,
    ...ids.flatMap((id) => [`/api/v1/providers/${id}`, `/api/v1/providers/${id}/history`]),
    '/api/v1/providers/notes',
    '/api/v1/status',
    '/api/v1/requests',
    '/api/v1/history',
    '/api/v1/agent',
    '/api/v1/logs',
    '/api/v1/about',
    '/v1/models',
    '/metrics',
    '/readyz',
  ])
    await get(path);
  seen.push((await postJson(`${gateway.url}/v1/chat/completions`, { messages: [] })).text);
  for (const args of [
    ['status'],
    ['status', '--json'],
    ['models'],
    ...ids.map((id) => ['reset', id]),
    ['doctor'],
  ]) {
    const ended = await sayHere({ DATA_DIR: gateway.dataDirectory }, ...args);
    expect([args, ended.stderr]).toEqual([args, expect.not.stringContaining('No gateway')]);
    seen.push(JSON.stringify(ended));
  }
  seen.push(JSON.stringify(gateway.host.snapshot()), JSON.stringify(feed.events), ...lines);

  for (const id of ids) expect(list).toContain(id);
  expect(feed.events.length).toBeGreaterThan(1);
  for (const text of seen) expect(text).not.toContain(WORD);
});

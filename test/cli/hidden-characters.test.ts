import { createServer } from 'node:http';
import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { AgentRecord } from '#shared/provider.ts';
import { createAgent } from '../registry/world.ts';
import { agentRecord, gpuDevice } from '../support/agent-record.ts';
import { temporaryDirectory } from '../support/gateway.ts';
import { postJson, send } from '../support/http.ts';
import { listening } from '../support/listening.ts';
import { sayHere } from '../support/owned-gateway.ts';
import { startHost, soon } from '../support/two-hosts.ts';
import { error, startUpstream } from '../support/upstream.ts';

/** Clears a terminal, forges a line, and reads as `exe.gnp` turned round. */
const NAME = 'tower\u001b[2J\nroot: ok\u202Egnp.exe\u0085';
const SEEN = 'tower⟨U+001B⟩[2J⟨U+000A⟩root: ok⟨U+202E⟩gnp.exe⟨U+0085⟩';
/** The same in a sentence that is made one line: what breaks a line is a blank there. */
const SEEN_IN_LINE = SEEN.replace('⟨U+000A⟩', ' ');
/** Standard output of a command that is no terminal has nothing hidden but its own line breaks. */
const HIDDEN = /[^\P{Cc}\n]|[\u061C\u200B\u200E\u200F\u202A-\u202E\u2066-\u2069]/u;

/** A machine that calls everything so. */
const record: AgentRecord = agentRecord({
  chip: NAME,
  current_model: NAME,
  models: [NAME],
  machine_model: NAME,
  gpu: { count: 1, devices: [gpuDevice({ name: NAME })], total_memory_gb: 24, gpu_cores: null },
  host: { ...agentRecord().host, hostname: NAME, platform: NAME, tailnet_hostname: NAME },
  engine_model: NAME,
  region: NAME,
  agent_version: NAME,
  agent_url: '',
});

const QUESTION = { messages: [{ role: 'user', content: 'Hello.' }] };

async function joined(host: Awaited<ReturnType<typeof startHost>>): Promise<void> {
  const { token } = JSON.parse((await host.post('providers/enrollments')).text) as {
    token: string;
  };
  const agent = createAgent({ now: Date.now });
  for (const message of [agent.enroll(token), agent.heartbeat(record)]) {
    const { path, headers, body } = message;
    const answer = await send(host.url + path, {
      method: 'POST',
      headers: headers as Record<string, string>,
      body: body.toString(),
    });
    expect(answer).toMatchObject({ status: 200 });
  }
}

test('no command prints a hidden character of a name from outside', async () => {
  const DATA_DIR = temporaryDirectory();
  const upstream = await startUpstream(error(500, NAME));
  const host = await startHost({
    DATA_DIR,
    AGENT: 'false',
    HOSTED_A_BASE_URL: upstream.url,
    FAIL_THRESHOLD: '1',
  });
  await joined(host);
  const run = (...args: string[]) => sayHere({ DATA_DIR }, ...args);
  const note = async (...args: string[]) => {
    const { stdout, stderr } = await run(...args);
    const said = stdout + stderr;
    expect([args, HIDDEN.exec(said)?.[0]]).toEqual([args, undefined]);
    return said;
  };
  await postJson(`${host.url}/v1/chat/completions`, { ...QUESTION, model: NAME });
  await note('status');
  await note('status', '--json');
  await note('reset', 'hosted_a');
  await note('models');
  await note('reset', NAME);
  await soon(async () =>
    expect(readFileSync(join(DATA_DIR, 'logs', 'inglenook.log'), 'utf8')).toContain('gnp.exe'),
  );
  expect(await note('logs', '-n', '100')).toContain(SEEN);
  await note('logs', '-n', '100', '--json');
});

test('join shows the hidden characters of a refusal as their codes', async () => {
  const body = JSON.stringify({ error: { message: NAME, code: 'invalid_token', type: 'x' } });
  const port = await listening(
    createServer((_req, res) =>
      res.writeHead(401, { 'content-type': 'application/json' }).end(body),
    ),
  );
  const settings = { DATA_DIR: temporaryDirectory(), AGENT: 'true' };
  const { code, stderr } = await sayHere(
    settings,
    'join',
    `http://127.0.0.1:${port}`,
    '0f'.repeat(32),
  );
  expect(code).toBe(1);
  expect(stderr).toContain(SEEN_IN_LINE);
  expect(stderr).not.toMatch(HIDDEN);
});

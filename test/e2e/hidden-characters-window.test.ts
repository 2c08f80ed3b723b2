import { expect, test } from 'vitest';
import { chat, HELLO } from '../support/client.ts';
import { agentRecord, gpuDevice } from '../support/agent-record.ts';
import { directoryWith } from '../support/data-directory.ts';
import { openPage } from '../support/page.ts';
import { storedMachine } from '../support/tier.ts';
import { chunk, DONE, error, ROLE, sse, startUpstream, STOP } from '../support/upstream.ts';
import { NO_AGENT, startWindowHost } from '../support/window-host.ts';

/** Reads as `exe.gnp` turned round, and would forge a line elsewhere. */
const NAME = 'rig\u202Egnp.exe\u2066\u001b[2J';
const SEEN = 'rig⟨U+202E⟩gnp.exe⟨U+2066⟩⟨U+001B⟩[2J';
const HIDDEN = /[^\P{Cc}\n\t]|[\u061C\u200B\u200E\u200F\u202A-\u202E\u2066-\u2069]/u;
const ID = `prv_${'7'.repeat(32)}`;

/** A machine that calls everything so. */
function machine() {
  const record = agentRecord({
    chip: NAME,
    current_model: NAME,
    models: [NAME],
    machine_model: NAME,
    gpu: { count: 1, devices: [gpuDevice({ name: NAME })], total_memory_gb: 24, gpu_cores: null },
    host: { ...agentRecord().host, hostname: NAME, platform: NAME },
    engine_model: NAME,
    region: NAME,
    agent_version: NAME,
    agent_url: '',
  });
  const now = Date.now();
  const checks = [{ name: 'agent_reachable', passed: false, error: NAME } as const];
  const verification = { state: 'failed', checks, lastCheckAt: now, lastInferenceAt: now } as const;
  return { ...storedMachine(ID, '', { record, verification }), lastHeartbeatAt: now };
}

test('no page of the dashboard shows a hidden character of a name from outside', async () => {
  const named = (event: string) =>
    event.replace('"model":"m"', () => `"model":${JSON.stringify(NAME)}`);
  const upstream = await startUpstream(
    sse(named(ROLE), named(chunk({ content: 'Hi.' })), named(STOP), DONE),
    error(400, NAME),
  );
  const host = await startWindowHost(
    {
      ...NO_AGENT,
      INGLENOOK_HOSTED_A_BASE_URL: upstream.url,
      INGLENOOK_HOSTED_A_LABEL: 'Hosted A',
    },
    directoryWith({ providers: [machine()] }),
  );
  const link = host.controlLink();
  const { origin } = new URL(link);
  const [, { headers }] = [
    await chat(origin, { ...HELLO, model: NAME, stream: true }),
    await chat(origin, { ...HELLO, model: NAME }),
  ];
  const page = await openPage(link);
  const requestId = String(headers['x-gateway-request-id']);
  for (const [path, shown] of [
    ['', 'Inglenook'],
    ['providers', 'gnp.exe'],
    [`providers/${ID}`, 'gnp.exe'],
    ['requests', 'Hosted A'],
    [`requests/${requestId}`, 'gnp.exe'],
    ['history', 'History'],
    ['settings/about', 'Inglenook'],
  ] as const) {
    await page.goto(`${origin}/#/${path}`);
    await page.getByText(shown).first().waitFor({ state: 'attached' });
    const all = await page.evaluate(() => document.title + document.documentElement.outerHTML);
    const isNamed = shown === 'gnp.exe';
    expect([path, HIDDEN.exec(all)?.[0], isNamed && all.includes(SEEN)]).toEqual([
      path,
      undefined,
      isNamed,
    ]);
  }
});

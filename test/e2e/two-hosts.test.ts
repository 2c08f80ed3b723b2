import { expect, test } from 'vitest';
import { startModelServer } from '../support/agent.ts';
import { chat, chatStream, textOf } from '../support/client.ts';
import { temporaryDirectory } from '../support/gateway.ts';
import { runCli } from '../support/process.ts';
import {
  agentAddress,
  crash,
  modelsOf,
  pathWithCard,
  quit,
  soon,
  startHost,
  type HostProcess,
} from '../support/two-hosts.ts';
import { answers, completion, startUpstream, type Upstream } from '../support/upstream.ts';

const SIX_CHECKS = [
  'health /health status ok',
  'engine_health ok',
  'GPU count >0',
  'test inference returns choices',
  'latency <10s',
  'model id matches',
];

/** A gateway without a GPU, and a fallback that somebody pays for. */
async function startGatewayHost() {
  const hosted = await startUpstream(answers('from the hosted one'));
  return startHost({
    DATA_DIR: temporaryDirectory(),
    HOSTED_A_BASE_URL: hosted.url,
    HOSTED_A_API_KEY: 'the-hosted-key',
    HOSTED_A_MODEL: 'hosted-model',
    FAIL_THRESHOLD: '2',
    COOLDOWN_MS: '1000',
  });
}

/** A machine with a GPU and an engine, as its owner keeps it: off, until it is started. */
function machineWith(engine: Upstream) {
  const settings = {
    DATA_DIR: temporaryDirectory(),
    AGENT: 'true',
    AGENT_HOST: agentAddress(),
    ENGINE_URL: engine.url,
  };
  const path = pathWithCard();
  return {
    start: () => startHost(settings, path),
    join: async (url: string, token: string) => {
      const joined = await runCli(settings, 'join', url, token);
      expect([joined.code, joined.stderr]).toEqual([0, '']);
      return /as (prv_[0-9a-f]{32})/.exec(joined.stdout)?.[1] ?? joined.stdout;
    },
  };
}

async function heartbeats(gateway: HostProcess, id: string): Promise<number> {
  return (await gateway.provider(id)).heartbeat_count;
}

/** Waits until the machine is verified by all six checks and can be chosen. */
function verified(gateway: HostProcess, id: string): Promise<void> {
  return soon(async () => {
    const provider = await gateway.provider(id);
    expect(provider).toMatchObject({
      verification: { status: 'verified', failure_reason: '' },
      trust_level: 'software',
      current_model: 'm',
      status: 'idle',
      gpu: { count: 1 },
    });
    const passed = provider.verification.checks.filter((check) => check.passed);
    expect(passed.map(({ name }) => name)).toEqual(expect.arrayContaining(SIX_CHECKS));
  });
}

/** The machine answers what the gateway is asked, plain and streamed. */
async function expectServed(gateway: HostProcess, id: string): Promise<void> {
  const head = {
    'x-gateway-upstream': 'local',
    'x-gateway-fallback-reason': 'none',
    'x-gateway-provider': id,
  };
  const whole = await chat(gateway.url);
  expect(whole).toMatchObject({ status: 200, headers: head });
  expect(JSON.parse(whole.text)).toEqual(completion('from the engine'));
  const streamed = await chatStream(gateway.url);
  expect(streamed).toMatchObject({ status: 200, headers: head });
  expect(textOf(streamed.text)).toBe('from the engine');
  expect(streamed.text).toContain('data: [DONE]');
  expect(await modelsOf(gateway)).toContain('m');
}

/** The hosted upstream answers instead; gives why the machine did not. */
async function reasonForHosted(gateway: HostProcess): Promise<string> {
  const { status, upstream, reason, headers, text } = await chat(gateway.url);
  expect([status, upstream]).toEqual([200, 'hosted_a']);
  expect(headers).not.toHaveProperty('x-gateway-provider');
  expect(text).toContain('from the hosted one');
  return reason;
}

test('a machine that joined while it was off is verified at its start, follows its owner, and comes back after a stop and a cut of its power', async () => {
  const gateway = await startGatewayHost();
  const engine = await startModelServer(answers('from the engine'));
  const machine = machineWith(engine);
  const id = await machine.join(gateway.url, await gateway.joinToken());
  expect(await reasonForHosted(gateway)).toBe('local=no_provider');

  const running = await machine.start();
  await verified(gateway, id);
  expect(await heartbeats(gateway, id)).toBeGreaterThan(0);
  await expectServed(gateway, id);

  expect((await running.post('agent/mode', { mode: 'paused' })).status).toBe(200);
  // Before the gateway hears of it, the machine's own refusal sends the caller on.
  await reasonForHosted(gateway);
  await soon(async () => {
    expect(await gateway.provider(id)).toMatchObject({ status: 'paused' });
  });
  expect(await modelsOf(gateway)).not.toContain('m');
  expect(await reasonForHosted(gateway)).toBe('local=paused');
  expect((await running.post('agent/mode', { mode: 'on' })).status).toBe(200);
  await verified(gateway, id);
  await soon(() => expectServed(gateway, id));

  await quit(running);
  expect(await gateway.provider(id)).toMatchObject({ status: 'offline' });
  expect(await modelsOf(gateway)).not.toContain('m');
  expect(await reasonForHosted(gateway)).toBe('local=no_provider');

  const again = await machine.start();
  expect((await again.agent()).id).toBe(id);
  await verified(gateway, id);
  await expectServed(gateway, id);

  await crash(again);
  // Nobody has told the gateway: it finds out by asking.
  expect(await reasonForHosted(gateway)).toMatch(`local/${id}=unreachable`);
  expect(await reasonForHosted(gateway)).toMatch(`local/${id}=unreachable`);
  const { circuits } = await gateway.status();
  expect(circuits[id]).toMatchObject({ open: true });
  expect(await reasonForHosted(gateway)).toBe('local=circuit_open');

  const heard = await heartbeats(gateway, id);
  await machine.start();
  await soon(async () => {
    expect(await heartbeats(gateway, id)).toBeGreaterThan(heard);
  });
  await verified(gateway, id);
  await soon(() => expectServed(gateway, id));
});

test('an engine and a GPU of this machine serve local with nothing configured', async () => {
  const engine = await startModelServer(answers('from the engine'));
  const host = await machineWith(engine).start();
  const { id } = await host.agent();
  await verified(host, id);
  await expectServed(host, id);
  expect(await modelsOf(host)).toContain('m');
});

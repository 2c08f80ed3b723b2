import { generateKeyPairSync } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { GatewayVerdict } from '#shared/agent.ts';
import { CHECK_NAMES } from '#shared/checks.ts';
import type { ExpectedAgent } from '../../../main/agent/doctor/agent-checks.ts';
import { runChecks, type WindowCut } from '../../../main/agent/doctor/doctor.ts';
import {
  DOCTOR_NAMES,
  type DoctorReport,
  reportText,
  shown,
} from '../../../main/agent/doctor/report.ts';
import { type GpuReading, readBy } from '../../../main/agent/telemetry/gpu-device.ts';
import type { TelemetryWatch } from '../../../main/agent/telemetry/telemetry.ts';
import { providerIdOf, publicKeyOf, signHealth } from '../../../main/platform/agent-identity.ts';
import { systemClock } from '../../../main/platform/clock.ts';
import { createHttpClient } from '../../../main/platform/http/client.ts';
import { listening } from '../../support/listening.ts';
import { type FakeEngine, listed, ok, startEngine } from '../fake-engine.ts';

const MODEL = 'qwen3-32b';
const COMPLETION = { choices: [{ index: 0, message: { role: 'assistant', content: 'OK' } }] };
const GATEWAY_TOKEN = 'a5'.repeat(32);

const CARD: GpuReading = {
  state: 'reading',
  devices: [
    readBy('nvidia-smi', { key: 'gpu', vendor: 'nvidia', name: 'RTX 4090', memoryTotalMb: 24_564 }),
  ],
  problems: [],
};

function telemetry(gpus: GpuReading): TelemetryWatch {
  return {
    start: () => {},
    look: () => {},
    stop: () => Promise.resolve(),
    read: () => ({
      gpus,
      cores: { total: 8, performance: 8, efficiency: 0 },
      machineModel: null,
      hostname: 'tower',
      platform: 'linux',
      memoryBytes: 2 ** 36,
      availableBytes: 2 ** 35,
      tailnet: null,
      problems: [],
    }),
  };
}

/** A vLLM that serves; its routes may be changed. */
function startVllm(): Promise<FakeEngine> {
  return startEngine({
    '/v1/models': listed('vllm', MODEL),
    '/version': ok({ version: '0.11.0' }),
    '/health': { body: '' },
    '/v1/chat/completions': ok(COMPLETION),
  });
}

const serve = (listener: RequestListener): Promise<number> => listening(createServer(listener));

/** An agent in front of an engine, with its key and what `/health` says. */
async function startAgent(said: Readonly<Record<string, unknown>> = {}) {
  const { privateKey } = generateKeyPairSync('ed25519');
  const id = providerIdOf(publicKeyOf(privateKey));
  const tokens: [path: string, token: unknown][] = [];
  const port = await serve((req, res) => {
    const url = new URL(req.url ?? '/', 'http://agent');
    tokens.push([url.pathname, req.headers['x-gateway-token']]);
    res.setHeader('content-type', 'application/json');
    const nonce = url.searchParams.get('nonce') ?? '';
    const answers: Readonly<Record<string, unknown>> = {
      '/health': {
        status: 'ok',
        agent_version: '0.1.0',
        id,
        signature: signHealth(privateKey, nonce, id),
        ...said,
      },
      '/v1/models': { object: 'list', data: [{ id: MODEL }] },
      '/v1/chat/completions': COMPLETION,
    };
    res.end(JSON.stringify(answers[url.pathname]));
  });
  const expected: ExpectedAgent = {
    isEnabled: true,
    host: '127.0.0.1',
    ports: [port],
    privateKey,
    id,
    gatewayToken: GATEWAY_TOKEN,
    registryUrl: 'http://127.0.0.1:47900',
    gatewayPorts: [port],
    taken: new Map(),
  };
  return { expected, tokens, port };
}

interface Given {
  readonly gateway?: GatewayVerdict;
  readonly agent: ExpectedAgent;
  readonly engine?: FakeEngine | null;
  readonly gpus?: GpuReading;
  readonly cuts?: readonly WindowCut[];
}

function diagnose({
  agent,
  engine = null,
  gpus = CARD,
  gateway,
  cuts = [],
}: Given): Promise<DoctorReport> {
  const http = createHttpClient();
  onTestFinished(() => http.close());
  return runChecks({
    http,
    clock: systemClock,
    telemetry: telemetry(gpus),
    agent,
    gateway: gateway ?? null,
    cuts,
    engines: { pinned: null, ownPorts: [], ports: engine === null ? [] : [engine.port] },
  });
}

const named = ({ checks }: DoctorReport, name: string) =>
  checks.filter((check) => check.name === name);
const passes = (report: DoctorReport) =>
  DOCTOR_NAMES.filter((name) => named(report, name).some(({ passed }) => passed));

test('a machine on which all is well passes each of the six checks, by its name', async () => {
  const { expected, tokens } = await startAgent();
  const report = await diagnose({ agent: expected, engine: await startVllm() });
  expect(report.ok).toBe(true);
  expect(passes(report)).toEqual(['engine found', 'agent port bound', ...CHECK_NAMES]);
  for (const check of report.checks) {
    expect(check).toMatchObject({ passed: true, remedy: null });
    expect(check.tried).not.toBe('');
    expect(check.output).not.toBe('');
  }
  expect(named(report, 'GPU count >0')[0]?.output).toBe('RTX 4090: memory 24564 MiB (nvidia-smi)');
  expect(named(report, 'test inference returns choices')[0]?.output).toContain('"choices"');
  // The agent is asked as the gateway asks it: with the token, once it has proved its key.
  expect(tokens).toEqual([
    ['/health', undefined],
    ['/v1/chat/completions', GATEWAY_TOKEN],
    ['/v1/models', GATEWAY_TOKEN],
  ]);
  expect(JSON.stringify(report)).not.toContain(GATEWAY_TOKEN);
});

test('every check fails where nothing runs, and says what was tried and what to do', async () => {
  const agent = { ...(await startAgent()).expected, ports: [1] };
  const gpus: GpuReading = {
    state: 'absent',
    devices: [],
    problems: [{ tool: 'GPU', tried: 'nvidia-smi', happened: 'not found', remedy: 'Install it.' }],
  };
  const report = await diagnose({ agent, gpus });
  expect([report.ok, passes(report)]).toEqual([false, []]);
  for (const { tried, remedy } of report.checks) {
    expect(tried).not.toBe('');
    expect(remedy).toMatch(/\S/);
  }
  expect(named(report, 'latency <10s')[0]?.output).toBe('check missing');
  expect(named(report, 'GPU count >0')[0]).toMatchObject({
    tried: 'nvidia-smi',
    output: 'GPU: not found',
    remedy: 'Install it.',
  });
  const text = reportText(report);
  for (const name of DOCTOR_NAMES) expect(text).toContain(`FAILED ${name}`);
  expect(text).toContain('FAILED latency <10s\n      not run\n      do     Fix the failed check');
});

test('an engine on a machine without a GPU can be used directly, by the line that doctor shows', async () => {
  const gpus: GpuReading = {
    state: 'absent',
    devices: [],
    problems: [{ tool: 'GPU', tried: 'nvidia-smi', happened: 'not found', remedy: 'Install it.' }],
  };
  const { expected: agent } = await startAgent();
  const engine = await startVllm();
  const report = await diagnose({ agent, gpus, engine });
  expect(named(report, 'GPU count >0')[0]?.remedy).toBe(
    `Install it. If it has none, let Inglenook use the engine directly: inglenook set local.baseUrl ${engine.url}`,
  );
});

test('the doctor asks the engine itself where no agent runs, and only the agent’s checks fail', async () => {
  const agent = { ...(await startAgent()).expected, ports: [1] };
  const engine = await startVllm();
  const report = await diagnose({ agent, engine });
  expect(DOCTOR_NAMES.filter((name) => !passes(report).includes(name))).toEqual([
    'agent port bound',
    'health /health status ok',
  ]);
  expect(engine.asked).toContain('POST /v1/chat/completions');
});

test('one bound port is enough for the agent’s checks to pass', async () => {
  const { expected, port } = await startAgent();
  const report = await diagnose({
    agent: { ...expected, ports: [1, port] },
    engine: await startVllm(),
  });
  expect(named(report, 'agent port bound').map(({ passed }) => passed)).toEqual([false, true]);
  expect(report.ok).toBe(true);
  expect(reportText(report)).toContain('All is well');
});

test.each([
  ['with another key', { signature: 'A'.repeat(86) + '==' }, /INGLENOOK_DATA_DIR/],
  ['that loads a model', { status: 'loading' }, /wait/],
])('the doctor fails the health check for an agent %s', async (_, said, remedy) => {
  const { expected } = await startAgent(said);
  const report = await diagnose({ agent: expected, engine: await startVllm() });
  expect(named(report, 'agent port bound')[0]?.passed).toBe(true);
  expect(named(report, 'health /health status ok')).toMatchObject([
    { passed: false, remedy: expect.stringMatching(remedy) },
  ]);
});

test('an agent that knows another gateway is said to need a new join', async () => {
  const { expected } = await startAgent();
  const { id, privateKey } = expected;
  const port = await serve((req, res) => {
    const nonce = new URL(req.url ?? '/', 'http://agent').searchParams.get('nonce');
    if (nonce === null || id === null || privateKey === null) {
      res.writeHead(401, { 'x-gateway-agent': 'unauthorized' }).end('{}');
      return;
    }
    res.end(JSON.stringify({ status: 'ok', id, signature: signHealth(privateKey, nonce, id) }));
  });
  const engine = await startVllm();
  const report = await diagnose({ agent: { ...expected, ports: [port] }, engine });
  expect(named(report, 'test inference returns choices')[0]?.remedy).toMatch(/join this machine/);
});

test('another program on the agent’s port is recognized, and is not sent the token', async () => {
  const tokens: unknown[] = [];
  const port = await serve((req, res) => {
    tokens.push(req.headers['x-gateway-token']);
    res.end('<html>hello</html>');
  });
  const { expected } = await startAgent();
  const report = await diagnose({ agent: { ...expected, ports: [port] } });
  expect(named(report, 'agent port bound')[0]).toMatchObject({
    passed: false,
    output: '<html>hello</html>',
    remedy: expect.stringContaining(`Port ${port} belongs to another program`),
  });
  expect(tokens).toEqual([undefined]);
});

test('an engine that fails at inference is shown with its message, cut short and harmless', async () => {
  const { expected } = await startAgent();
  const engine = await startVllm();
  const body = `\u001b[2Jout of memory ${'x'.repeat(5000)}`;
  engine.routes = { ...engine.routes, '/v1/chat/completions': { status: 500, body } };
  const report = await diagnose({ agent: { ...expected, ports: [1] }, engine });
  const [inference] = named(report, 'test inference returns choices');
  expect(inference).toMatchObject({ passed: false });
  expect(inference?.output).toMatch(/^HTTP 500 ⟨U\+001B⟩\[2Jout of memory x+…$/);
  expect(inference?.output.length).toBeLessThan(700);
  // An error that comes fast is not fast.
  expect(named(report, 'latency <10s')[0]?.output).toBe('check missing');
});

test('an engine that wants a key is one thing to do: no other check asks for a model', async () => {
  const { expected: agent } = await startAgent();
  const engine = await startEngine(
    { '*': { status: 401, body: { error: { message: 'Invalid API Key' } } } },
    { server: 'llama.cpp' },
  );
  const report = await diagnose({ agent, engine });
  expect(named(report, 'engine_health ok')[0]?.remedy).toContain('INGLENOOK_ENGINE_API_KEY');
  expect(named(report, 'test inference returns choices')[0]?.remedy).toBe(
    'Fix the failed check above first.',
  );
});

test('a list without the model fails "model id matches" alone', async () => {
  const { expected } = await startAgent();
  const engine = await startEngine({
    '/v1/models': listed('vllm', 'another-model'),
    '/version': ok({ version: '0.11.0' }),
    '/health': { body: '' },
  });
  const report = await diagnose({ agent: expected, engine });
  expect(DOCTOR_NAMES.filter((name) => !passes(report).includes(name))).toEqual([
    'model id matches',
  ]);
});

test('an agent on loopback that has joined a remote gateway is said to be out of its reach', async () => {
  const { expected } = await startAgent();
  const agent = { ...expected, registryUrl: 'http://192.168.1.10:47900' };
  const report = await diagnose({ agent, engine: await startVllm() });
  expect(report.ok).toBe(false);
  expect(named(report, 'agent port bound')).toMatchObject([
    { passed: false, remedy: expect.stringContaining('INGLENOOK_AGENT_HOST') },
  ]);
});

test('an agent port that remote gateways do not search fails its check once one of them has been joined', async () => {
  const { expected, port } = await startAgent();
  const agent = { ...expected, gatewayPorts: [3001, 47_901] };
  const report = await diagnose({ agent, engine: await startVllm() });
  expect(named(report, 'agent port bound')).toMatchObject([
    { passed: false, remedy: expect.stringContaining('only the ports 3001 and 47901') },
  ]);
  const second = { ...agent, ports: [port, port], gatewayPorts: [port] };
  expect((await diagnose({ agent: second, engine: await startVllm() })).ok).toBe(true);
});

test('the doctor shows the gateway’s verdict, and a refusal there is a failure here', async () => {
  const { expected: agent } = await startAgent();
  const engine = await startVllm();
  const gateway = (status: string, failure_reason = '') => ({ url: null, status, failure_reason });
  const refused = gateway('failed', 'latency <10s: no answer in time');
  const report = await diagnose({ agent, engine, gateway: refused });
  expect([report.ok, report.gateway]).toEqual([false, refused]);
  expect(reportText(report)).toContain(
    "This machine's own gateway says about this machine: failed: latency <10s: no answer in time.",
  );
  expect(reportText(report)).not.toContain('All is well');
  const well = await diagnose({ agent, engine, gateway: gateway('verified') });
  expect(reportText(well)).toMatch(/says about this machine: verified\.\nAll is well\.\n$/);
});

test.each([
  ['is held by a program that does not answer', () => serveNothing()],
  ['could not be bound', () => Promise.resolve(1)],
])('a port that %s is not free for Inglenook', async (says, portOf) => {
  const port = await portOf();
  const { expected } = await startAgent();
  const taken = new Map(says === 'could not be bound' ? [[port, 'it is in use']] : []);
  const report = await diagnose({ agent: { ...expected, ports: [port], taken } });
  expect(named(report, 'agent port bound')[0]?.remedy).toContain('belongs to another program');
});

test('the doctor tells an engine that hangs from one that does not run', async () => {
  const { expected: agent } = await startAgent();
  const engine = await startEngine({ '*': { body: '', hangs: true } });
  const [found] = named(await diagnose({ agent, engine }), 'engine found');
  expect(found?.output).toContain(`${engine.url} that accepts connections but does not answer`);
  expect(found?.remedy).toContain('restart it');
});

test('the doctor reports a context window too small for coding agents, with the setting to change', async () => {
  const { expected: agent } = await startAgent();
  const ollamaWith = (length: number) =>
    startEngine({
      '/': 'Ollama is running',
      '/api/version': ok({ version: '0.30.2' }),
      '/v1/models': listed('library', MODEL),
      '/api/tags': ok({ models: [{ name: MODEL }] }),
      '/api/ps': ok({ models: [{ name: MODEL, context_length: length }] }),
    });
  const remedyAt = async (length: number) => {
    const report = await diagnose({ agent, engine: await ollamaWith(length) });
    const [found] = named(report, 'engine found');
    expect(found?.passed).toBe(true);
    return found?.remedy ?? null;
  };
  expect(await remedyAt(4096)).toBe(
    'Ollama serves 4,096 tokens; coding agents need 32,000 or more: set OLLAMA_CONTEXT_LENGTH.',
  );
  expect(await remedyAt(65_536)).toBeNull();
});

test('the doctor reports a model that Ollama runs on the processor although there is a GPU', async () => {
  const { expected: agent } = await startAgent();
  const ollamaWith = (size_vram: number) =>
    startEngine({
      '/': 'Ollama is running',
      '/api/version': ok({ version: '0.30.2' }),
      '/v1/models': listed('library', MODEL),
      '/api/tags': ok({ models: [{ name: MODEL }] }),
      '/api/ps': ok({ models: [{ name: MODEL, context_length: 65_536, size_vram }] }),
    });
  const remedyAt = async (size: number) => {
    const report = await diagnose({ agent, engine: await ollamaWith(size) });
    const [gpus] = named(report, 'GPU count >0');
    expect(gpus?.passed).toBe(true);
    return gpus?.remedy ?? null;
  };
  expect(await remedyAt(0)).toMatch(`runs ${MODEL} on the processor, not on the GPU: restart it.`);
  expect(await remedyAt(1_000_000)).toBeNull();
});

test('the doctor names an engine that a gateway has caught cutting prompts', async () => {
  const { expected: agent } = await startAgent();
  const report = await diagnose({
    agent,
    engine: await startVllm(),
    cuts: [{ model: MODEL, tokens: 4096 }],
  });
  expect(named(report, 'engine found')[0]?.remedy).toBe(
    `Prompts for ${MODEL} were cut to 4,096 tokens without an error: give it a larger context window.`,
  );
});

/** A server that closes each connection without a word. */
function serveNothing(): Promise<number> {
  return listening(createTcpServer((socket) => socket.destroy()));
}

test('the output of other programs is shown in one line, with hidden characters as their codes', () => {
  expect(shown('a\n\tb\u0007\u001b[31mc')).toBe('a b⟨U+0007⟩⟨U+001B⟩[31mc');
});

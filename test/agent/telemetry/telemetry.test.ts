import { expect, onTestFinished, test } from 'vitest';
import {
  createAskFacts,
  machineModel,
  readFacts,
} from '../../../main/agent/telemetry/machine-facts.ts';
import { createLineReader } from '../../../main/agent/telemetry/supervised-tool.ts';
import { createKernelFiles } from '../../../main/agent/telemetry/sysfs.ts';
import { createTailnetWatch, parseTailscale } from '../../../main/agent/telemetry/tailnet.ts';
import {
  countedCores,
  createTelemetry,
  hybridCores,
} from '../../../main/agent/telemetry/telemetry.ts';
import { createStartTool, runTool } from '../../../main/agent/telemetry/tool-process.ts';
import { createManualClock } from '../../support/clock.ts';
import { fileTree, HANGS, prints, stubTools } from '../../support/stub-tool.ts';
import { fixture } from '../fixture.ts';

const world = { env: process.env, platform: process.platform };
const never = new AbortController().signal;
const MACHINE = {
  manufacturer: 'Framework',
  model: 'Laptop 16',
  performanceCores: 6,
  efficiencyCores: 2,
  controllers: [],
};

test.each([
  ['Framework', 'Laptop 16', 'Framework Laptop 16'],
  ['Apple', 'Apple Mac14,5', 'Apple Mac14,5'],
  ['To Be Filled By O.E.M.', 'B650', 'B650'],
  ['Gigabyte', 'To Be Filled By O.E.M.', null],
  ['', 'Docker Container', null],
  ['System manufacturer', 'System Product Name', null],
  ['Default string', '', null],
  [undefined, 5, null],
])('a board by %j that calls itself %j is %j', (manufacturer, model, shown) => {
  expect(machineModel(manufacturer, model)).toBe(shown);
});

test('cores of a hybrid processor are counted by kind, also without hyper-threading', async () => {
  const files = createKernelFiles(
    fileTree({ '/sys/devices/cpu_core/cpus': '0-7', '/sys/devices/cpu_atom/cpus': '8-15,20' }),
  );
  expect(await hybridCores(files)).toEqual({ total: 17, performance: 8, efficiency: 9 });
  expect(await hybridCores(createKernelFiles(fileTree({})))).toBeNull();
});

test('counts of cores that do not add up are not believed', () => {
  expect(countedCores(8, 6, 2)).toEqual({ total: 8, performance: 6, efficiency: 2 });
  expect(countedCores(16, 8, 0)).toEqual({ total: 16, performance: 16, efficiency: 0 });
  expect(countedCores(4, null, null)).toEqual({ total: 4, performance: 4, efficiency: 0 });
});

test('systeminformation answers from a thread of its own', async () => {
  const result = await readFacts(createAskFacts(world)('machine'), createManualClock(), never);
  expect(result).toMatchObject({ kind: 'facts', facts: { cards: [] } });
});

test('a thread that hangs is left after 20 s and told of', async () => {
  const clock = createManualClock();
  const script = new URL('data:text/javascript,for(;;);');
  const asker = createAskFacts(world, script)('machine');
  const pending = readFacts(asker, clock, never);
  clock.advance(20_000);
  expect(await pending).toMatchObject({
    kind: 'failed',
    problem: { tool: 'systeminformation', happened: 'it has hung: no answer in 20 s' },
  });
  expect(clock.pending()).toBe(0);
});

test('a thread that cannot run is told of', async () => {
  const asker = createAskFacts(world, new URL('file:///nowhere/at-all.js'))('machine');
  expect(await readFacts(asker, createManualClock(), never)).toMatchObject({ kind: 'failed' });
});

test('cards on Windows come from systeminformation, but for those that only drive a screen', async () => {
  const controllers = [
    { vendor: 'Advanced Micro Devices, Inc.', model: 'AMD Radeon RX 7900 XTX', vram: 24560 },
    { vendor: 'Intel Corporation', model: 'Intel(R) UHD Graphics 770', vram: 8192 },
    { vendor: 'ASPEED', model: 'ASPEED Graphics', vram: 16384 },
    { vendor: 'AMD', model: 'AMD Radeon Graphics', vram: 512 },
    { vendor: 'Intel', model: 'Intel(R) Arc(TM) A770', vram: 16384, vramDynamic: true },
    null,
  ];
  const asker = { answer: Promise.resolve({ ...MACHINE, controllers }), stop: () => {} };
  const result = await readFacts(asker, createManualClock(), never);
  expect(result).toMatchObject({
    facts: { cards: [{ vendor: 'amd', name: 'AMD Radeon RX 7900 XTX', memoryTotalMb: 24560 }] },
  });
});

test('the tailnet counts only while it is up', () => {
  const text = fixture('tailscale.json');
  expect(parseTailscale(text)).toEqual({ hostname: 'tower.tail0000.ts.net', ip: '100.64.0.7' });
  expect(parseTailscale(text.replace('Running', 'Stopped'))).toBeNull();
  expect(parseTailscale(text.replace('"Online": true', '"Online": false'))).toBeNull();
  expect(parseTailscale('failed to connect to local tailscaled')).toBeNull();
});

test('the tailnet is asked for once a minute', async () => {
  const { startTool, runs } = stubTools({ tailscale: prints(fixture('tailscale.json')) });
  const clock = createManualClock();
  const watch = createTailnetWatch({ clock, startTool });
  watch.start();
  await clock.timer(60_000, 60_000);
  expect(watch.read()?.ip).toBe('100.64.0.7');
  clock.advance(59_999);
  expect(runs).toHaveLength(1);
  await watch.stop();
  expect(clock.pending()).toBe(0);
});

test('lines are cut whole, and one that has no end is not kept', () => {
  const lines: string[] = [];
  const feed = createLineReader((line) => lines.push(line));
  for (const part of ['one\ntw', 'o\r\n\n', 'x'.repeat(5000), 'x\nthree\n'])
    feed(Buffer.from(part));
  const umlaut = Buffer.from('ü\n');
  feed(umlaut.subarray(0, 1));
  feed(umlaut.subarray(1));
  expect(lines).toEqual(['one', 'two', 'three', 'ü']);
});

test.each([
  ['prints its answer slowly', prints('late', ':'), { kind: 'output', text: 'late\n' }],
  [
    'fails',
    'echo "no card" >&2; exit 3',
    { kind: 'failed', detail: 'it ended with code 3: no card' },
  ],
  ['is killed', 'kill -9 $$', { kind: 'failed', detail: 'it was ended by a signal' }],
  [
    'prints ten megabytes',
    '/usr/bin/head -c 10000000 /dev/zero; /bin/sleep 1000',
    { kind: 'failed', detail: 'it printed over 1000 bytes' },
  ],
])('a tool that %s is told apart', async (_does, script, expected) => {
  const { startTool } = stubTools({ tool: script });
  const call = { command: 'tool', args: [], timeoutMs: 1000, maxBytes: 1000 };
  const result = await runTool(call, { startTool, clock: createManualClock() }, never);
  expect(result).toEqual(expected);
});

test('a file that may not be run is a value', async () => {
  const root = fileTree({ '/tool': 'text' });
  const startTool = createStartTool({ env: { PATH: root }, platform: process.platform });
  const call = { command: 'tool', args: [], timeoutMs: 1000, maxBytes: 1000 };
  const result = await runTool(call, { startTool, clock: createManualClock() }, never);
  expect(result).toEqual({ kind: 'failed', detail: 'it cannot be started: EACCES' });
});

test('a whole machine is read at once, whatever its tools do, and stops at once', async () => {
  const { startTool, run } = stubTools({ 'nvidia-smi': HANGS, 'amd-smi': HANGS, tailscale: HANGS });
  const clock = createManualClock();
  const telemetry = createTelemetry({
    clock,
    env: {},
    platform: 'linux',
    root: fileTree({}),
    startTool,
    askFacts: () => ({ answer: Promise.resolve(MACHINE), stop: () => {} }),
  });
  onTestFinished(() => telemetry.stop());
  telemetry.start();
  await run(4);
  while (telemetry.read().machineModel === null) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(telemetry.read()).toMatchObject({
    gpus: { state: 'starting', devices: [] },
    machineModel: 'Framework Laptop 16',
    tailnet: null,
  });
  await telemetry.stop();
  expect(clock.pending()).toBe(0);
});

import { expect, onTestFinished, test } from 'vitest';
import {
  type GpuDevice,
  type GpuReading,
  deviceOf,
} from '../../../main/agent/telemetry/gpu-device.ts';
import { createNvidiaCollector, parseNvidiaRow } from '../../../main/agent/telemetry/nvidia.ts';
import { until } from '../../support/agent.ts';
import { createManualClock } from '../../support/clock.ts';
import {
  HANGS,
  IDLE_CARD,
  isAlive,
  prints,
  smi,
  type SmiCard,
  stubTools,
} from '../../support/stub-tool.ts';
import { fixture } from '../fixture.ts';

/** The columns of the recordings. */
const COLUMNS = [
  'index',
  'uuid',
  'memory.total',
  'memory.used',
  'memory.free',
  'utilization.gpu',
  'utilization.memory',
  'temperature.gpu',
  'mig.mode.current',
  'compute_cap',
  'name',
];

const parse = (line: string) => parseNvidiaRow(line, COLUMNS);

test('a lost NVIDIA card has a fault and no readings, and the other card keeps its own', () => {
  const [well, lost] = fixture('nvidia-lost.csv').trim().split('\n').map(parse);
  expect(well?.fault).toBeNull();
  expect(lost).toMatchObject({
    fault: 'GPU is lost',
    memoryTotalMb: null,
    temperatureC: null,
    name: 'NVIDIA GeForce RTX 3090',
  });
});

test.each(['NVIDIA GB10', 'Orin (nvgpu)', 'NVIDIA Thor', 'NVIDIA RTX Spark N1X (6144-core)'])(
  '%s shares the memory of its machine',
  (name) => {
    const row = fixture('nvidia-gb10.csv').trim().replace('NVIDIA GB10', name);
    const card = { isUnified: true, memoryTotalMb: null, utilGpu: 0, fault: null };
    expect(parse(row)).toMatchObject({ name, ...card });
  },
);

test.each([
  '',
  'No devices were found',
  'Unable to determine the device handle for GPU 0000:0B:00.0: Unknown Error',
  'Unable to determine the device handle for GPU0000:01:00.0: GPU is lost.  Reboot the system.',
  'a, b, c, d, e, f, g, h, i, j, k, l',
  '1, 2, 3',
  '\u0000\u0001\u0002',
])('the line %j is not a row of nvidia-smi', (line) => {
  expect(parse(line)).toBeNull();
});

const INTERVAL_MS = 15_000;
const CARD = IDLE_CARD;
const SECOND: SmiCard = {
  ...CARD,
  uuid: 'GPU-00000000-0000-0000-0000-000000000002',
  'pci.bus_id': '00000000:02:00.0',
};

/** The same card as systeminformation has it: without the values of 0. */
const LIBRARY_CARD = deviceOf({
  key: '0000:01:00.0',
  vendor: 'nvidia',
  pciAddress: '0000:01:00.0',
  name: 'NVIDIA GeForce RTX 4080 SUPER',
  memoryTotalMb: 16376,
  memoryUsedMb: 596,
  memoryFreeMb: 15348,
  utilMemory: 23,
  temperatureC: 43,
  powerW: 13,
});

function started(script: string | null, ...known: readonly GpuDevice[]) {
  const tools = stubTools(script === null ? {} : { 'nvidia-smi': script });
  const clock = createManualClock();
  const library = { devices: known, settled: Promise.resolve() };
  const reading = (): GpuReading => ({ state: 'reading', devices: library.devices, problems: [] });
  const collector = createNvidiaCollector(
    { clock, startTool: tools.startTool },
    {
      start() {},
      stop: () => Promise.resolve(),
      settled: () => library.settled,
      look() {},
      read: reading,
    },
  );
  collector.start();
  onTestFinished(() => collector.stop());
  const round = () => clock.timer(INTERVAL_MS, INTERVAL_MS);
  /** The fields of the n-th call, from 1. */
  const asked = (n: number) =>
    /--query-gpu=(\S+)/.exec(tools.runs[n - 1]?.args.join(' ') ?? '')?.[1];
  return { tools, clock, collector, library, round, asked };
}

const IDENTITY = 'index,uuid,pci.bus_id';

test('a value that systeminformation leaves out is asked once, and again when another one is left out', async () => {
  const { tools, clock, collector, library, round, asked } = started(smi(CARD), LIBRARY_CARD);
  await round();
  expect(asked(1)).toBe(`${IDENTITY},utilization.gpu`);
  expect(collector.read().devices[0]?.utilGpu).toBe(0);
  clock.advance(INTERVAL_MS);
  await round();
  expect(tools.runs).toHaveLength(1);
  library.devices = [{ ...LIBRARY_CARD, utilGpu: 50, utilMemory: null }];
  clock.advance(INTERVAL_MS);
  await round();
  expect(asked(2)).toBe(`${IDENTITY},utilization.memory`);
});

test('every round asks nvidia-smi for everything if systeminformation sees no card, or not all', async () => {
  const { tools, clock, collector, library, round, asked } = started(smi(CARD, SECOND));
  await round();
  expect(asked(1)).toMatch(/memory\.total,.+power\.draw,name$/);
  expect(collector.read().devices).toMatchObject([{ utilGpu: 0 }, { temperatureC: 43 }]);
  library.devices = [LIBRARY_CARD];
  clock.advance(INTERVAL_MS);
  await round();
  expect(asked(2)).toBe(asked(1));
  expect(tools.runs).toHaveLength(2);
  expect(collector.read().devices).toHaveLength(2);
});

test('an nvidia-smi that hangs is killed after 45 s, reported, and not started twice', async () => {
  const { tools, clock, collector } = started(HANGS);
  const { ended } = await tools.run(1);
  clock.advance(45_000);
  await ended;
  await clock.timer(2 * INTERVAL_MS, 2 * INTERVAL_MS);
  expect(collector.read()).toMatchObject({
    state: 'failing',
    problems: [{ tool: 'nvidia-smi', happened: 'it has hung: no answer in 45 s' }],
  });
  expect(collector.read().problems[0]?.remedy).toMatch(/dmesg/);
  expect(tools.runs).toHaveLength(1);
});

test.each([
  ['ten megabytes in one line', '/usr/bin/head -c 10000000 /dev/zero\n/bin/sleep 1000'],
  ['ten megabytes of lines', `/usr/bin/yes no such thing | /usr/bin/head -c 10000000\n${HANGS}`],
  ['noise without end', `/bin/cat /dev/urandom`],
])('%s from a tool end it and are not kept', async (_what, script) => {
  const { collector } = started(script);
  await until(() => collector.read().state === 'failing');
  const { devices, problems } = collector.read();
  expect(devices).toEqual([]);
  expect(problems[0]?.happened).toMatch(/^it printed over \d+ bytes$/);
});

test.each([
  ['Failed to initialize NVML: Driver/library version mismatch', 'exit 18', /restart this machine/],
  ['No devices were found', 'exit 6', /lspci/],
  // NVIDIA/nvidia-container-toolkit#48.
  ['Failed to initialize NVML: Unknown Error', 'exit 255', /restart the container/],
  // microsoft/WSL#9962.
  [
    'Failed to initialize NVML: GPU access blocked by the operating system',
    'exit 255',
    /wsl --update/,
  ],
  // NVIDIA/nvidia-docker#1163.
  [
    "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.",
    'exit 12',
    /compute,utility/,
  ],
  // open-gpu-kernel-modules#387: a card's own fault.
  [
    'Unable to determine the device handle for GPU 0000:0B:00.0: Unknown Error',
    'exit 255',
    /Restart this machine.*Xid/,
  ],
])('a problem of nvidia-smi that prints %j comes with its remedy', async (words, then, remedy) => {
  const { collector } = started(prints(words, then));
  await until(() => collector.read().state === 'failing');
  const [problem] = collector.read().problems;
  expect(problem?.happened).toBe(`it ended with code ${then.slice(5)}: ${words}`);
  expect(problem?.remedy).toMatch(remedy);
});

test('an nvidia-smi that keeps failing is started less and less often, and trusted again once it answers', async () => {
  const { tools, clock, collector, round } = started('exit 1');
  await tools.run(1);
  const isPausing = () => clock.pending() === 1;
  for (const [run, pauseMs] of [30_000, 60_000, 120_000].entries()) {
    await until(isPausing);
    clock.advance(pauseMs - 1);
    expect(tools.runs).toHaveLength(run + 1);
    clock.advance(1);
    await tools.run(run + 2);
  }
  tools.install('nvidia-smi', smi(CARD));
  await until(isPausing);
  clock.advance(240_000);
  await round();
  expect(collector.read()).toMatchObject({ state: 'reading', problems: [] });
});

/** Fails whenever that card is asked about, as where it fell off the bus; otherwise answers for the first one. */
const fallen = (address: string) => `case "$*" in --id=*) ;; *)
${prints(`Unable to determine the device handle for GPU${address}: Unknown Error`, 'exit 255')};; esac
${smi(CARD)}`;

test('a card off the bus, for which nvidia-smi reports nothing at all, does not hide the others', async () => {
  const { tools, clock, collector, round } = started(smi(CARD, SECOND));
  await round();
  tools.install('nvidia-smi', fallen('0000:02:00.0'));
  clock.advance(INTERVAL_MS);
  await round();
  expect(tools.runs.at(-1)?.args[0]).toBe(`--id=${CARD['uuid']}`);
  const { state, devices, problems } = collector.read();
  expect(state).toBe('reading');
  expect(devices).toMatchObject([{ key: CARD['uuid'], temperatureC: 43 }]);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatchObject({
    happened: expect.stringContaining('device handle for GPU0000:02:00.0'),
    remedy: expect.stringMatching(/Xid/),
  });
});

test('an agent that starts next to a card off the bus asks for those that the bus lists', async () => {
  const second = deviceOf({ key: '0000:02:00.0', vendor: 'nvidia', pciAddress: '0000:02:00.0' });
  const { tools, collector, round } = started(fallen('0000:02:00.0'), LIBRARY_CARD, second);
  await round();
  expect(tools.runs.at(-1)?.args[0]).toBe('--id=0000:01:00.0');
  expect(collector.read()).toMatchObject({ state: 'reading', devices: [{ key: CARD['uuid'] }] });
});

test('a machine without nvidia-smi has no card and no problem, and looks for it again after 5 minutes', async () => {
  const { tools, clock, collector, round } = started(null);
  await clock.timer(300_000, 300_000);
  expect(collector.read()).toEqual({ state: 'absent', devices: [], problems: [] });
  tools.install('nvidia-smi', smi(CARD));
  clock.advance(299_999);
  expect(tools.runs).toHaveLength(4);
  clock.advance(1);
  await round();
  expect(collector.read().state).toBe('reading');
});

test('nothing that the NVIDIA collector started outlives a stop, and no timer stays', async () => {
  const { tools, clock, collector } = started('/bin/sleep 1000 &\necho $$ $!\nwait');
  const [shell = 0, sleeping = 0] = (await (await tools.run(1)).printed).split(' ').map(Number);
  expect([isAlive(shell), isAlive(sleeping)]).toEqual([true, true]);
  await collector.stop();
  expect(isAlive(shell)).toBe(false);
  await expect.poll(() => isAlive(sleeping)).toBe(false);
  expect(clock.pending()).toBe(0);
});

test('nvidia-smi gets no more of the environment than it needs', async () => {
  const { tools } = started('echo "[$INGLENOOK_API_KEYS$HOSTED_A_API_KEY]"\n/bin/sleep 1000');
  expect(await (await tools.run(1)).printed).toBe('[]\n');
});

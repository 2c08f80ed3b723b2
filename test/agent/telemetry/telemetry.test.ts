import { expect, onTestFinished, test } from 'vitest';
import { createKernelFiles } from '../../../main/agent/telemetry/sysfs.ts';
import { createLibrary, machineModel } from '../../../main/agent/telemetry/systeminformation.ts';
import { hybridCores, parseTailscale } from '../../../main/agent/telemetry/telemetry.ts';
import { type StartTool } from '../../../main/agent/telemetry/tool-process.ts';
import { until } from '../../support/agent.ts';
import { createManualClock } from '../../support/clock.ts';
import { fileTree, isAlive, prints, stubTools } from '../../support/stub-tool.ts';
import { fixture } from '../fixture.ts';
const INTERVAL_MS = 15_000;
const MACHINE = { manufacturer: 'Framework', model: 'Laptop 16' };

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

/** The library of a machine whose helper is a stub. */
function library(script: string, platform: NodeJS.Platform = 'linux') {
  const clock = createManualClock();
  const { startTool, runs, run, install } = stubTools({ helper: script });
  const startHelper: StartTool = (_file, topics, onData) => startTool('helper', topics, onData);
  const made = createLibrary({ clock, platform, startHelper });
  made.gpus.start();
  onTestFinished(() => made.gpus.stop());
  const round = () => clock.timer(INTERVAL_MS, INTERVAL_MS);
  return { clock, runs, run, install, round, ...made };
}

const GRAPHICS = [
  {
    vendor: 'NVIDIA Corporation',
    busAddress: '01:00.0',
    memoryTotal: 8192,
    temperatureGpu: 50,
    utilizationGpu: 90,
  },
];
const answer = (graphics: readonly object[]) =>
  prints(JSON.stringify({ machine: MACHINE, graphics }));

test('systeminformation is asked for everything at the start, then for live values with each heartbeat', async () => {
  const { clock, runs, round, facts, gpus } = library(answer(GRAPHICS));
  await round();
  expect(facts().machineModel).toBe('Framework Laptop 16');
  expect(gpus.read().devices).toMatchObject([{ key: '0000:01:00.0', temperatureC: 50 }]);
  clock.advance(INTERVAL_MS);
  await round();
  expect(runs.map(({ args }) => args)).toEqual([['machine', 'graphics'], ['graphics']]);
});

test('systeminformation is asked once on Windows, and its live values are not kept', async () => {
  const { clock, runs, round, gpus } = library(answer(GRAPHICS), 'win32');
  await round();
  clock.advance(INTERVAL_MS);
  await round();
  expect(runs).toHaveLength(1);
  expect(gpus.read().devices).toMatchObject([{ memoryTotalMb: 8192, temperatureC: null }]);
});

test.each([
  ['crashes', 'echo "no such call" >&2; exit 3', 'it ended with code 3: no such call'],
  ['is killed', 'kill -9 $$', 'it was ended by a signal'],
  ['prints no JSON', 'echo nonsense', 'it printed unexpected output: nonsense'],
  ['prints without end', '/bin/cat /dev/zero', 'it printed over 1048576 bytes'],
])(
  'systeminformation whose helper %s is reported, and asked again later',
  async (_does, script, happened) => {
    const { clock, gpus, install } = library(script);
    await clock.timer(2 * INTERVAL_MS, 2 * INTERVAL_MS);
    expect(gpus.read()).toMatchObject({ state: 'failing', problems: [{ happened }] });
    install('helper', answer(GRAPHICS));
    clock.advance(2 * INTERVAL_MS);
    await until(() => gpus.read().state === 'reading');
  },
);

test('systeminformation that hangs is killed after 20 s with all that it has started', async () => {
  const { clock, gpus, run } = library('/bin/sleep 1000 &\necho $!\nwait');
  const { printed, ended } = await run(1);
  const sleeping = Number(await printed);
  expect(isAlive(sleeping)).toBe(true);
  clock.advance(20_000);
  await ended;
  await until(() => gpus.read().state === 'failing');
  expect(gpus.read().problems[0]?.happened).toBe('it has hung: no answer in 20 s');
  await until(() => !isAlive(sleeping));
});

test('the tailnet counts only while it is up', () => {
  const text = fixture('tailscale.json');
  expect(parseTailscale(text)).toEqual({ hostname: 'tower.tail0000.ts.net', ip: '100.64.0.7' });
  expect(parseTailscale(text.replace('Running', 'Stopped'))).toBeNull();
  expect(parseTailscale(text.replace('"Online": true', '"Online": false'))).toBeNull();
  expect(parseTailscale('failed to connect to local tailscaled')).toBeNull();
});

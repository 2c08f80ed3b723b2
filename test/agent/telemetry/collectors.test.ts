import { expect, onTestFinished, test } from 'vitest';
import { createAmdCollector, parseAmdSmiMetric } from '../../../main/agent/telemetry/amd.ts';
import {
  type GpuDevice,
  type GpuReading,
  parsePciAddress,
  deviceOf,
  UNREAD,
} from '../../../main/agent/telemetry/gpu-device.ts';
import type { GpuCollector } from '../../../main/agent/telemetry/poll.ts';
import { mergedReading } from '../../../main/agent/telemetry/telemetry.ts';
import { createIntelCollector } from '../../../main/agent/telemetry/intel.ts';
import { createKernelFiles } from '../../../main/agent/telemetry/sysfs.ts';
import { until } from '../../support/agent.ts';
import { createManualClock, type ManualClock } from '../../support/clock.ts';
import { fileTree, prints, stubTools, type StubTools } from '../../support/stub-tool.ts';
import { fixture } from '../fixture.ts';

interface World {
  readonly clock: ManualClock;
  readonly tools: StubTools;
  readonly files: ReturnType<typeof createKernelFiles>;
}

function world(scripts: Record<string, string>, files: Record<string, string> = {}): World {
  const clock = createManualClock();
  return { clock, tools: stubTools(scripts), files: createKernelFiles(fileTree(files)) };
}

/** Starts a collector and gives its reading after the first round. */
async function afterRound(collector: GpuCollector) {
  collector.start();
  onTestFinished(() => collector.stop());
  await until(() => collector.read().state !== 'starting');
  return collector.read();
}

const amd = ({ clock, tools, files }: World) =>
  createAmdCollector({ clock, startTool: tools.startTool }, files);

const RADEON = {
  '/sys/class/drm/card0/device/vendor': '0x1002',
  '/sys/class/drm/card0/device/uevent': 'DRIVER=amdgpu\nPCI_SLOT_NAME=0000:03:00.0',
  '/sys/class/drm/card0/device/mem_info_vram_total': '25753026560',
  '/sys/class/drm/card0/device/mem_info_vram_used': '0',
  '/sys/class/drm/card0/device/gpu_busy_percent': '0',
  '/sys/class/drm/card0/device/mem_busy_percent': '7',
  '/sys/class/drm/card0/device/hwmon/hwmon3/temp1_input': '47000',
  '/sys/class/drm/card0/device/hwmon/hwmon3/power1_average': '25000000',
  '/sys/class/drm/card0-DP-1/status': 'connected',
};

test('an AMD card is read from the files of its driver, and zero stays zero', async () => {
  const there = world({}, { ...RADEON, '/sys/class/drm/card0/device/product_name': 'W7900' });
  expect((await afterRound(amd(there))).devices).toEqual([
    {
      ...UNREAD,
      key: '0000:03:00.0',
      vendor: 'amd',
      pciAddress: '0000:03:00.0',
      name: 'W7900',
      memoryTotalMb: 24560,
      memoryUsedMb: 0,
      memoryFreeMb: 24560,
      utilGpu: 0,
      utilMemory: 7,
      temperatureC: 47,
      powerW: 25,
    },
  ]);
  expect(there.tools.runs).toEqual([]);
});

test('an AMD card is named although warnings precede the output of its tool', async () => {
  const there = world({
    'amd-smi': `case "$1" in static)\n${prints(fixture('amd-smi-static.txt'))};; esac\n${prints(fixture('amd-smi-metric.json'))}`,
  });
  const { devices } = await afterRound(amd(there));
  expect(devices).toMatchObject([
    {
      key: '0000:03:00.0',
      name: 'AMD Radeon RX 7800 XT',
      memoryTotalMb: 16_368,
      memoryUsedMb: 14_569,
      memoryFreeMb: 1799,
      utilGpu: 2,
      temperatureC: 41,
    },
  ]);
});

test('an AMD card is read from the bare list that its tool printed before ROCm 7', () => {
  const usage = parseAmdSmiMetric(fixture('amd-smi-usage.json'));
  expect(usage).toMatchObject([{ key: 'amd-0', utilGpu: 42, utilMemory: 1, memoryTotalMb: null }]);
});

test('an AMD tool that prints nonsense is reported in plain words', async () => {
  const there = world({ 'amd-smi': "printf 'no \\033[31mJSON\\033[0m'" });
  const { state, problems } = await afterRound(amd(there));
  expect(state).toBe('failing');
  expect(problems[0]).toMatchObject({ tool: 'amd-smi' });
  const told = problems[0]?.happened;
  expect(told).toBe('it printed unexpected output: no ⟨U+001B⟩[31mJSON⟨U+001B⟩[0m');
});

const WARNED = 'ERROR: GPU[0] \t\t: fclk clock is unsupported';
const CARD =
  '{"gpu_data": [{"gpu": 0, "usage": {"gfx_activity": 3}, "mem_usage": {"total_vram": 16368}}]}';
test.each([
  // ROCm/legacy-rocm-build#1453.
  ['in front', `${WARNED}\n${CARD}`],
  ['behind', `${CARD}\n${WARNED}\nWARNING:  \t\t One or more commands failed`],
  ['that begins with a bracket', `[WARNING] low power\n${CARD}`],
  ['at both ends', `${WARNED}\r\n${CARD}\r\n${WARNED}`],
])('a card of AMD is read next to a warning %s, whatever the exit code', async (_where, text) => {
  const there = world({ 'amd-smi': prints(text, 'exit 2') });
  const devices = (await afterRound(amd(there))).devices;
  expect(devices).toMatchObject([{ memoryTotalMb: 16_368, utilGpu: 3 }]);
});

const intel = ({ clock, files }: World) => createIntelCollector(clock, files);

test('Intel cards are found, but not the GPU inside a processor', async () => {
  const there = world(
    {},
    {
      '/sys/class/drm/card0/device/vendor': '0x8086',
      '/sys/class/drm/card0/device/uevent': 'PCI_SLOT_NAME=0000:00:02.0',
      '/sys/class/drm/card1/device/vendor': '0x8086',
      '/sys/class/drm/card1/device/uevent': 'PCI_SLOT_NAME=0000:03:00.0',
      '/sys/class/drm/card1/device/hwmon/hwmon1/temp2_input': '51000',
    },
  );
  const { devices } = await afterRound(intel(there));
  expect(devices).toMatchObject([{ key: '0000:03:00.0', temperatureC: 51, memoryTotalMb: null }]);
});

// AlexsJones/llmfit#733; the size is that of intel/media-driver#1917.
test.each([
  ['xe', { 'device/tile0/physical_vram_size_bytes': '12884901888' }, 12_288],
  [
    'xe, of two tiles',
    {
      'device/tile0/physical_vram_size_bytes': '12884901888',
      'device/tile1/physical_vram_size_bytes': '12884901888',
    },
    24_576,
  ],
  ['i915', { lmem_total_bytes: '12884901888' }, 12_288],
])(
  'the memory of an Intel card is read from the files of its driver %s',
  async (_of, files, memoryTotalMb) => {
    const card = '/sys/class/drm/card1';
    const there = world(
      {},
      {
        [`${card}/device/vendor`]: '0x8086',
        [`${card}/device/uevent`]: 'PCI_SLOT_NAME=0000:03:00.0',
        ...Object.fromEntries(
          Object.entries(files).map(([name, text]) => [`${card}/${name}`, text]),
        ),
      },
    );
    expect((await afterRound(intel(there))).devices).toMatchObject([{ memoryTotalMb }]);
  },
);

const ABSENT: GpuReading = { state: 'absent', devices: [], problems: [] };

function reading(...devices: GpuDevice[]): GpuReading {
  return { state: 'reading', devices, problems: [] };
}

function cardOf(key: string, part: Partial<GpuDevice>): GpuDevice {
  return deviceOf({ key, vendor: 'amd', name: key, ...part });
}

test('a GPU inside an AMD processor is used if it is the only one; next to a card it only drives a screen', async () => {
  const device = '/sys/class/drm/card0/device';
  const inside = {
    [`${device}/vendor`]: '0x1002',
    [`${device}/uevent`]: 'PCI_SLOT_NAME=0000:10:00.0',
    [`${device}/mem_info_vram_total`]: '536870912',
    [`${device}/mem_info_gtt_total`]: '33285996544',
    [`${device}/hwmon/hwmon2/in1_label`]: 'vddnb',
  };
  const own = await afterRound(amd(world({}, inside)));
  expect(mergedReading(ABSENT, [own]).devices).toMatchObject([{ memoryTotalMb: 32_256 }]);
  const card = deviceOf({ key: 'card', vendor: 'nvidia', memoryTotalMb: 24_564 });
  expect(mergedReading(ABSENT, [reading(card), own]).devices).toMatchObject([{ key: 'card' }]);
});

test('a card of AMD has its own memory, although it may use the machine’s too', async () => {
  const shared = { '/sys/class/drm/card0/device/mem_info_gtt_total': '67108864000' };
  const { devices } = await afterRound(amd(world({}, { ...RADEON, ...shared })));
  expect(devices).toMatchObject([{ memoryTotalMb: 24_560, isUnified: false }]);
});

const at = { pciAddress: '0000:03:00.0' };
const merged = (told: Partial<GpuDevice>, own: Partial<GpuDevice>) => {
  const library = deviceOf({ key: 'k', vendor: 'amd', ...at, ...told });
  return mergedReading(reading(library), [reading(cardOf('own', { ...at, ...own }))]);
};

test('the first of two sources of a card counts, and each completes the other', () => {
  const { devices, problems } = merged(
    { memoryTotalMb: 24560, temperatureC: 45 },
    { memoryTotalMb: 16384, utilGpu: 0 },
  );
  expect(devices).toMatchObject([
    { key: 'own', memoryTotalMb: 24560, temperatureC: 45, utilGpu: 0 },
  ]);
  expect(problems).toEqual([]);
});

test.each([
  ['01:00.0', '0000:01:00.0'],
  ['00000000:0A:00.0', '0000:0a:00.0'],
  ['0000000F:01:00.0', '000f:01:00.0'],
  ['000f:01:00.0', '000f:01:00.0'],
  ['[N/A]', null],
  [null, null],
])('the PCI address %j is read as %j', (text, address) => {
  expect(parsePciAddress(text)).toBe(address);
});

test('a card on the bus that no driver reads comes with advice to install one', () => {
  const library = reading(deviceOf({ key: '0000:01:00.0', vendor: 'nvidia' }));
  expect(mergedReading(library, [ABSENT])).toMatchObject({
    state: 'absent',
    devices: [],
    problems: [{ happened: 'a GPU is present (0000:01:00.0), but no driver reads it' }],
  });
});

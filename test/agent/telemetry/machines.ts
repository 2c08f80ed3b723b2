import type { AgentRecord } from '#shared/provider.ts';
import { HANGS, prints, smi } from '../../support/stub-tool.ts';
import { fixture } from '../fixture.ts';

type DeviceRecord = AgentRecord['gpu']['devices'][number];

/** What a machine's tools print, and what its record must say. */
export interface Machine {
  readonly name: string;
  readonly platform: NodeJS.Platform;
  /** Shell scripts on its search path. */
  readonly tools: Readonly<Record<string, string>>;
  /** Files of its kernel. */
  readonly files?: Readonly<Record<string, string>>;
  /** What systeminformation answers where it cannot run here. */
  readonly library?: { readonly graphics: readonly object[]; readonly memory?: object };
  readonly devices: readonly Partial<DeviceRecord>[];
  /** Sources of the first card's values. */
  readonly sources: Readonly<Record<string, string>>;
  readonly chip?: Partial<AgentRecord>;
}

/** The line of a card, and its largest region: what systeminformation reads of `lspci -vvv`. */
function lspci(...cards: readonly (readonly [line: string, region: string])[]): string {
  const text = cards.map(
    ([line, region]) =>
      `${line}\n\tSubsystem: Device 0001\n\tRegion 0: Memory at d0000000 (64-bit, prefetchable) [size=${region}]\n`,
  );
  return prints(text.join('\n'));
}

const SI = 'systeminformation';
const [uuid1, uuid2] = [1, 2].map((n) => `GPU-00000000-0000-0000-0000-00000000000${n}`);
const GIB = 1024 ** 3;
const { name: _name, ...NOT_TOLD } = {
  name: '',
  memory_used_mb: null,
  memory_free_mb: null,
  util_gpu: null,
  util_memory: null,
};

const h100 = {
  name: 'NVIDIA H100 80GB HBM3',
  'memory.total': 81559,
  'mig.mode.current': 'Disabled',
  compute_cap: '9.0',
};

/**
 * Values are those of test/agent/fixtures/README.md unless said otherwise; identifiers of zeros are ours. `lspci`
 * names what the pci.ids of such cards are, or the thread given.
 */
export const MACHINES: readonly Machine[] = [
  {
    // nvidia_gpu_exporter, capture of a GeForce RTX 4080 SUPER, 595.71.05, under load, with its bus id and power.
    name: 'a consumer card under load',
    platform: 'linux',
    tools: {
      lspci: lspci([
        '01:00.0 VGA compatible controller: NVIDIA Corporation AD103 [GeForce RTX 4080 SUPER] (rev a1)',
        '32M',
      ]),
      'nvidia-smi': smi({
        uuid: uuid1 ?? '',
        'pci.bus_id': '00000000:01:00.0',
        name: 'NVIDIA GeForce RTX 4080 SUPER',
        'memory.total': 16376,
        'memory.used': 1474,
        'memory.free': 14470,
        'utilization.gpu': 7,
        'utilization.memory': 2,
        'temperature.gpu': 46,
        'power.draw': 84.24,
        compute_cap: '8.9',
      }),
    },
    devices: [
      {
        name: 'NVIDIA GeForce RTX 4080 SUPER',
        memory_total_mb: 16376,
        memory_used_mb: 1474,
        memory_free_mb: 14470,
        util_gpu: 7,
        util_memory: 2,
        temperature_c: 46,
      },
    ],
    sources: { memoryUsedMb: SI, utilGpu: SI, powerW: SI, computeCapability: 'nvidia-smi' },
    chip: { chip_family: 'Ada Lovelace', gpu_cores: 10240, memory_bandwidth_gbs: 736 },
  },
  {
    name: 'two cards of a data centre, one idle: a zero is a zero',
    platform: 'linux',
    tools: {
      lspci: lspci(
        ['00:09.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)', '128G'],
        ['00:0a.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)', '128G'],
      ),
      'nvidia-smi': smi(
        {
          ...h100,
          uuid: uuid1 ?? '',
          'pci.bus_id': '00000000:00:09.0',
          'memory.used': 19818,
          'memory.free': 61263,
          'utilization.gpu': 100,
          'utilization.memory': 11,
          'temperature.gpu': 59,
        },
        {
          ...h100,
          uuid: uuid2 ?? '',
          'pci.bus_id': '00000000:00:0A.0',
          'memory.used': 0,
          'memory.free': 81081,
          'utilization.gpu': 0,
          'utilization.memory': 0,
          'temperature.gpu': 41,
        },
      ),
    },
    devices: [
      { memory_used_mb: 19818, util_gpu: 100, util_memory: 11, temperature_c: 59 },
      { memory_used_mb: 0, memory_free_mb: 81081, util_gpu: 0, util_memory: 0, temperature_c: 41 },
    ],
    sources: { utilGpu: SI, temperatureC: SI },
    chip: { chip_family: 'Hopper', memory_gb: 159.29 },
  },
  {
    // The first row of nvidia-mig.csv; its power as `dmon` has it.
    name: 'a card with MIG: what it may not tell is unknown',
    platform: 'linux',
    tools: {
      lspci: lspci([
        '00:09.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)',
        '128G',
      ]),
      'nvidia-smi': smi({
        ...h100,
        uuid: uuid1 ?? '',
        'pci.bus_id': '00000000:00:09.0',
        'memory.used': 59,
        'memory.free': 81022,
        'temperature.gpu': 42,
        'power.draw': 438,
        'mig.mode.current': 'Enabled',
      }),
    },
    devices: [
      {
        memory_total_mb: 81559,
        memory_used_mb: 59,
        memory_free_mb: 81022,
        util_gpu: null,
        util_memory: null,
        temperature_c: 42,
      },
    ],
    sources: { memoryUsedMb: SI, powerW: SI },
  },
  {
    // Bus id, temperature and power: NVIDIA/k8s-device-plugin#1482; memory: leptonai/gpud#1170.
    name: "a GB10: its memory is the machine's",
    platform: 'linux',
    tools: {
      lspci: lspci([
        '000f:01:00.0 VGA compatible controller: NVIDIA Corporation GB20B [GB10]',
        '16M',
      ]),
      'nvidia-smi': smi({
        uuid: uuid1 ?? '',
        'pci.bus_id': '0000000F:01:00.0',
        name: 'NVIDIA GB10',
        'utilization.gpu': 0,
        'utilization.memory': 0,
        'temperature.gpu': 40,
        'power.draw': 4,
        compute_cap: '12.1',
      }),
    },
    devices: [{ name: 'NVIDIA GB10', util_gpu: 0, util_memory: 0, temperature_c: 40 }],
    sources: { utilGpu: 'nvidia-smi', temperatureC: SI, memoryTotalMb: SI, memoryUsedMb: SI },
    chip: { chip_family: 'Blackwell', memory_bandwidth_gbs: 273 },
  },
  {
    // sebhildebrandt/systeminformation#790, 5.20.0. It left out the values of 0, which nvidia-smi prints.
    name: 'a laptop with Windows and two GPUs',
    platform: 'win32',
    library: {
      graphics: [
        {
          vendor: 'Intel Corporation',
          model: 'Intel(R) UHD Graphics',
          bus: 'PCI',
          vram: 1024,
          vramDynamic: true,
          subDeviceId: '170D1043',
        },
        {
          vendor: 'NVIDIA',
          model: 'NVIDIA GeForce GTX 1650',
          bus: 'PCI',
          vram: 4096,
          vramDynamic: false,
          subDeviceId: '0x170D1043',
          driverVersion: '512.78',
          name: 'NVIDIA GeForce GTX 1650',
          pciBus: '00000000:01:00.0',
          memoryTotal: 4096,
          memoryFree: 3962,
          temperatureGpu: 48,
          powerDraw: 1.78,
          clockCore: 4,
          clockMemory: 13,
        },
      ],
    },
    tools: {
      'nvidia-smi': smi({
        uuid: uuid1 ?? '',
        'pci.bus_id': '00000000:01:00.0',
        name: 'NVIDIA GeForce GTX 1650',
        'memory.used': 0,
        'utilization.gpu': 0,
        'utilization.memory': 0,
        compute_cap: '7.5',
      }),
    },
    devices: [
      {
        name: 'NVIDIA GeForce GTX 1650',
        memory_total_mb: 4096,
        memory_used_mb: 0,
        memory_free_mb: 3962,
        util_gpu: 0,
        util_memory: 0,
        temperature_c: 48,
      },
    ],
    sources: { memoryFreeMb: SI, powerW: SI, memoryUsedMb: 'nvidia-smi', utilGpu: 'nvidia-smi' },
    chip: { chip_family: 'Turing' },
  },
  {
    // clbr/radeontop#159 (lspci), LACT#533 (memory): a Radeon RX 7900 XTX; the rest after the kernel's documentation.
    name: 'a Radeon: lspci names two cards, amd-smi the one',
    platform: 'linux',
    tools: {
      lspci: lspci([
        '03:00.0 VGA compatible controller: Advanced Micro Devices, Inc. [AMD/ATI] Navi 31 [Radeon RX 7900 XT/7900 XTX] (rev c8)',
        '256M',
      ]),
      'amd-smi': prints(
        '[{"gpu":0,"asic":{"market_name":"Radeon RX 7900 XTX"},"bus":{"bdf":"0000:03:00.0"}}]',
      ),
    },
    files: {
      '/sys/class/drm/card0/device/vendor': '0x1002',
      '/sys/class/drm/card0/device/uevent': 'DRIVER=amdgpu\nPCI_SLOT_NAME=0000:03:00.0',
      '/sys/class/drm/card0/device/mem_info_vram_total': '25753026560',
      '/sys/class/drm/card0/device/mem_info_vram_used': '0',
      '/sys/class/drm/card0/device/gpu_busy_percent': '0',
      '/sys/class/drm/card0/device/hwmon/hwmon3/temp1_input': '47000',
      '/sys/class/drm/card0/device/hwmon/hwmon3/power1_average': '15000000',
    },
    devices: [
      {
        name: 'Radeon RX 7900 XTX',
        memory_total_mb: 24560,
        memory_used_mb: 0,
        memory_free_mb: 24560,
        util_gpu: 0,
        util_memory: null,
        temperature_c: 47,
      },
    ],
    sources: { name: 'amd-smi', memoryTotalMb: 'sysfs', utilGpu: 'sysfs', powerW: 'sysfs' },
    chip: { chip_family: 'RDNA 3', memory_bandwidth_gbs: 960 },
  },
  {
    // telegraf, mi100_rocm602.json; lspci as in pci.ids.
    name: 'Instinct cards through rocm-smi alone',
    platform: 'linux',
    tools: {
      lspci: lspci(
        [
          '83:00.0 Display controller: Advanced Micro Devices, Inc. [AMD/ATI] Arcturus GL-XL [Instinct MI100] (rev 01)',
          '32G',
        ],
        [
          'a3:00.0 Display controller: Advanced Micro Devices, Inc. [AMD/ATI] Arcturus GL-XL [Instinct MI100] (rev 01)',
          '32G',
        ],
      ),
      'rocm-smi': prints(fixture('rocm-smi-mi100.json')),
    },
    devices: [
      { name: 'Instinct MI100', memory_total_mb: 32752, memory_used_mb: 6, util_gpu: 0 },
      { name: 'Instinct MI100', memory_total_mb: 32752, util_memory: 0, temperature_c: 55 },
    ],
    sources: { name: SI, memoryTotalMb: 'rocm-smi', temperatureC: 'rocm-smi' },
  },
  {
    // ProjectPhysX/OpenCL-Benchmark#19 and xCuri0/ReBarUEFI#11 (lspci); the numbers are those of xpu-smi.csv.
    name: 'Arc cards: the region that lspci has is not their memory',
    platform: 'linux',
    tools: {
      lspci: lspci(
        [
          '03:00.0 VGA compatible controller: Intel Corporation Battlemage G21 [Intel Graphics]',
          '32G',
        ],
        ['07:00.0 VGA compatible controller: Intel Corporation Battlemage G21 [Arc B580]', '256M'],
      ),
      'xpu-smi': prints(fixture('xpu-smi.csv')),
    },
    devices: [
      { memory_total_mb: 24480, memory_used_mb: 1200, util_gpu: null, temperature_c: 51 },
      { memory_total_mb: 12216, memory_used_mb: 0, util_gpu: 0, temperature_c: null },
    ],
    sources: { memoryTotalMb: 'xpu-smi', temperatureC: 'xpu-smi' },
  },
  {
    // ioreg.txt; systeminformation's fields as its lib/graphics.js makes them of system_profiler.
    name: 'an M4',
    platform: 'darwin',
    library: {
      graphics: [
        {
          vendor: 'Apple',
          model: 'Apple M4',
          bus: 'Built-In',
          vramDynamic: true,
          vram: null,
          cores: '10',
        },
      ],
      memory: { total: 16 * GIB, available: 8 * GIB },
    },
    tools: { ioreg: prints(fixture('ioreg.txt')) },
    devices: [
      {
        name: 'Apple M4',
        memory_total_mb: 16384,
        memory_used_mb: 335,
        memory_free_mb: 16049,
        util_gpu: 21,
        util_memory: null,
        temperature_c: null,
      },
    ],
    sources: { name: SI, gpuCores: SI, memoryTotalMb: SI, utilGpu: 'ioreg', memoryUsedMb: 'ioreg' },
    chip: { chip_family: 'M4', gpu_cores: 10, memory_bandwidth_gbs: 120 },
  },
  {
    // ioreg-m1.txt: an older system, whose ioreg names neither chip nor cores.
    name: 'an M1 of 2021',
    platform: 'darwin',
    library: {
      graphics: [{ vendor: 'Apple', model: 'Apple M1 Pro', vramDynamic: true, cores: '14' }],
      memory: { total: 16 * GIB, available: 8 * GIB },
    },
    tools: { ioreg: prints(fixture('ioreg-m1.txt')) },
    devices: [{ name: 'Apple M1 Pro', memory_used_mb: 325, util_gpu: 2 }],
    sources: { name: SI, gpuCores: SI },
    chip: { gpu_cores: 14, memory_bandwidth_gbs: 200 },
  },
  {
    // microsoft/WSL#9821: lspci has no NVIDIA card; the values are those of nvidia-consumer.csv.
    name: 'WSL',
    platform: 'linux',
    tools: {
      lspci: lspci(['fe50:00:00.0 3D controller: Microsoft Corporation Basic Render Driver', '8K']),
      'nvidia-smi': smi({
        uuid: uuid1 ?? '',
        'pci.bus_id': '00000000:01:00.0',
        name: 'NVIDIA GeForce RTX 4080 SUPER',
        'memory.total': 16376,
        'memory.used': 596,
        'memory.free': 15348,
        'utilization.gpu': 0,
        'utilization.memory': 23,
        'temperature.gpu': 43,
        compute_cap: '8.9',
      }),
    },
    devices: [{ memory_total_mb: 16376, memory_used_mb: 596, util_gpu: 0, temperature_c: 43 }],
    sources: { memoryTotalMb: 'nvidia-smi', utilGpu: 'nvidia-smi' },
    chip: { chip: 'NVIDIA GeForce RTX 4080 SUPER' },
  },
  {
    // netdata, tesla-p100.csv.
    name: 'a container without lspci, and a driver of 2022',
    platform: 'linux',
    tools: {
      'nvidia-smi': `case "$1" in *compute_cap*)\n${prints('Field "compute_cap" is not a valid field to query.', 'exit 2')};; esac\n${smi(
        {
          uuid: 'GPU-ef1b2c9b-38d8-2090-2bd1-f567a3eb42a6',
          name: 'Tesla P100-PCIE-16GB',
          'memory.total': 16384,
          'memory.used': 0,
          'memory.free': 16280,
          'utilization.gpu': 0,
          'utilization.memory': 0,
          'temperature.gpu': 37,
        },
      )}`,
    },
    devices: [{ memory_total_mb: 16384, memory_used_mb: 0, util_gpu: 0, temperature_c: 37 }],
    sources: { memoryUsedMb: 'nvidia-smi', name: 'nvidia-smi' },
  },
  {
    // akash-network/provider-configs#7: the display chip of a server.
    name: 'a server without a GPU',
    platform: 'linux',
    tools: {
      lspci: lspci([
        '12:00.0 VGA compatible controller: ASPEED Technology, Inc. ASPEED Graphics Family',
        '16M',
      ]),
    },
    devices: [],
    sources: {},
  },
  {
    // Crosstalk-Solutions/project-nomad#850: without nvidia-smi, systeminformation gives a GTX 1050 Ti 32 MB.
    name: 'a card without a driver, which cannot serve',
    platform: 'linux',
    tools: {
      lspci: lspci([
        '01:00.0 VGA compatible controller: NVIDIA Corporation GP107 [GeForce GTX 1050 Ti] (rev a1)',
        '32M',
      ]),
    },
    devices: [],
    sources: {},
  },
  {
    name: 'a Radeon with Windows, which only systeminformation knows',
    platform: 'win32',
    library: {
      graphics: [
        { vendor: 'Advanced Micro Devices, Inc.', model: 'AMD Radeon RX 7900 XTX', vram: 24560 },
        { vendor: 'Intel Corporation', model: 'Intel(R) UHD Graphics 770', vram: 8192 },
        { vendor: 'ASPEED', model: 'ASPEED Graphics', vram: 16384 },
        { vendor: 'AMD', model: 'AMD Radeon Graphics', vram: 512 },
        { vendor: 'Intel', model: 'Intel(R) Arc(TM) A770', vram: 16384, vramDynamic: true },
      ],
    },
    tools: {},
    devices: [{ ...NOT_TOLD, name: 'AMD Radeon RX 7900 XTX', memory_total_mb: 24560 }],
    sources: { name: SI, memoryTotalMb: SI },
  },
  {
    name: 'a machine whose systeminformation hangs, in lspci',
    platform: 'linux',
    tools: {
      lspci: HANGS,
      'nvidia-smi': smi({ ...h100, uuid: uuid1 ?? '', 'memory.used': 0, 'temperature.gpu': 41 }),
    },
    devices: [{ memory_total_mb: 81559, memory_used_mb: 0, util_gpu: null, temperature_c: 41 }],
    sources: { memoryUsedMb: 'nvidia-smi' },
  },
];

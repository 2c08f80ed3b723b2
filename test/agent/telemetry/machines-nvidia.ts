import { HANGS, IDLE_CARD, smi } from '../../support/stub-tool.ts';
import { lspci, type Machine } from './machine.ts';

const [uuid1, uuid2] = [1, 2].map((n) => `GPU-00000000-0000-0000-0000-00000000000${n}`);

const h100 = {
  name: 'NVIDIA H100 80GB HBM3',
  'memory.total': 81559,
};

/**
 * Values are those of test/agent/fixtures/README.md unless said otherwise; identifiers of zeros are ours. `lspci`
 * names what the pci.ids of such cards are, or the thread given.
 */
export const NVIDIA_MACHINES: readonly Machine[] = [
  {
    // nvidia_gpu_exporter, capture of a GeForce RTX 4080 SUPER, 595.71.05, under load, with its bus id and power.
    name: 'a consumer card under load',
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
    chip: { chip_family: 'Ada Lovelace', gpu_cores: 10240, memory_bandwidth_gbs: 736 },
  },
  {
    name: 'two cards of a data centre, one idle: a zero is a zero',
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
    chip: { chip_family: 'Hopper', memory_gb: 159.29 },
  },
  {
    // The first row of nvidia-mig.csv; its power as `dmon` has it.
    name: 'a card with MIG: what it may not tell is unknown',
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
  },
  {
    // Bus id, temperature and power: NVIDIA/k8s-device-plugin#1482; memory: leptonai/gpud#1170.
    name: "a GB10: its memory is the machine's",
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
      }),
    },
    devices: [{ name: 'NVIDIA GB10', util_gpu: 0, util_memory: 0, temperature_c: 40 }],
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
  },
  {
    // microsoft/WSL#9821: lspci has no NVIDIA card; the values are those of nvidia-consumer.csv.
    name: 'WSL',
    tools: {
      lspci: lspci(['fe50:00:00.0 3D controller: Microsoft Corporation Basic Render Driver', '8K']),
      'nvidia-smi': smi(IDLE_CARD),
    },
    devices: [{ memory_total_mb: 16376, memory_used_mb: 596, util_gpu: 0, temperature_c: 43 }],
    chip: { chip: 'NVIDIA GeForce RTX 4080 SUPER' },
  },
  {
    // netdata, tesla-p100.csv.
    name: 'a container without lspci',
    tools: {
      'nvidia-smi': smi({
        uuid: 'GPU-ef1b2c9b-38d8-2090-2bd1-f567a3eb42a6',
        name: 'Tesla P100-PCIE-16GB',
        'memory.total': 16384,
        'memory.used': 0,
        'memory.free': 16280,
        'utilization.gpu': 0,
        'utilization.memory': 0,
        'temperature.gpu': 37,
      }),
    },
    devices: [{ memory_total_mb: 16384, memory_used_mb: 0, util_gpu: 0, temperature_c: 37 }],
  },
  {
    name: 'a machine whose systeminformation hangs, in lspci',
    tools: {
      lspci: HANGS,
      'nvidia-smi': smi({ ...h100, uuid: uuid1 ?? '', 'memory.used': 0, 'temperature.gpu': 41 }),
    },
    devices: [{ memory_total_mb: 81559, memory_used_mb: 0, util_gpu: null, temperature_c: 41 }],
  },
];

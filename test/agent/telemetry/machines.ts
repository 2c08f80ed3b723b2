import { totalmem } from 'node:os';
import { prints } from '../../support/stub-tool.ts';
import { fixture } from '../fixture.ts';
import { lspci, type Machine } from './machine.ts';
import { NVIDIA_MACHINES } from './machines-nvidia.ts';

/** An Apple chip uses the memory of its machine, here of the one that runs the test. */
const OWN_MB = Math.round(totalmem() / 1024 ** 2);
const NOT_TOLD = {
  memory_used_mb: null,
  memory_free_mb: null,
  util_gpu: null,
  util_memory: null,
  temperature_c: null,
};

/** As in machines-nvidia.ts. */
export const MACHINES: readonly Machine[] = [
  ...NVIDIA_MACHINES,
  {
    // clbr/radeontop#159 (lspci), LACT#533 (memory): a Radeon RX 7900 XTX; the rest after the kernel's documentation.
    name: 'a Radeon: lspci names two cards, amd-smi the one',
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
    chip: { chip_family: 'RDNA 3', memory_bandwidth_gbs: 960 },
  },
  {
    // noamsto/nix-amd-ai#42 (memory of a Ryzen AI Max+ 395 with 128 GB), magnitudedev/magnitude#44 (address),
    // signerless/llm-checker#75 (processor); the rest after the kernel's documentation.
    name: 'a Strix Halo: its GPU uses most of the memory of the machine',
    tools: {
      lspci: lspci([
        'c3:00.0 Display controller: Advanced Micro Devices, Inc. [AMD/ATI] Strix Halo [Radeon Graphics / Radeon 8050S Graphics / Radeon 8060S Graphics] (rev d1)',
        '256M',
      ]),
    },
    files: {
      '/proc/cpuinfo':
        'processor\t: 0\nmodel name\t: AMD RYZEN AI MAX+ 395 w/ Radeon 8060S\nstepping\t: 0',
      '/sys/class/drm/card1/device/vendor': '0x1002',
      '/sys/class/drm/card1/device/uevent': 'DRIVER=amdgpu\nPCI_SLOT_NAME=0000:c3:00.0',
      '/sys/class/drm/card1/device/mem_info_vram_total': '4294967296',
      '/sys/class/drm/card1/device/mem_info_vram_used': '1073741824',
      '/sys/class/drm/card1/device/mem_info_gtt_total': '103079215104',
      '/sys/class/drm/card1/device/mem_info_gtt_used': '21474836480',
      '/sys/class/drm/card1/device/gpu_busy_percent': '0',
      '/sys/class/drm/card1/device/hwmon/hwmon5/in1_label': 'vddnb',
      '/sys/class/drm/card1/device/hwmon/hwmon5/temp1_input': '41000',
    },
    devices: [
      {
        name: 'Radeon 8060S',
        memory_total_mb: 102_400,
        memory_used_mb: 21_504,
        memory_free_mb: 80_896,
        util_gpu: 0,
        temperature_c: 41,
      },
    ],
    chip: { memory_gb: 100, gpu_cores: 2560, memory_bandwidth_gbs: 256 },
  },
  {
    // ProjectPhysX/OpenCL-Benchmark#19 and xCuri0/ReBarUEFI#11 (lspci).
    name: 'Arc cards: the region that lspci has is not their memory',
    tools: {
      lspci: lspci(
        [
          '03:00.0 VGA compatible controller: Intel Corporation Battlemage G21 [Intel Graphics]',
          '32G',
        ],
        ['07:00.0 VGA compatible controller: Intel Corporation Battlemage G21 [Arc B580]', '256M'],
      ),
    },
    files: {
      '/sys/class/drm/card0/device/vendor': '0x8086',
      '/sys/class/drm/card0/device/uevent': 'PCI_SLOT_NAME=0000:03:00.0',
      '/sys/class/drm/card0/device/tile0/physical_vram_size_bytes': '25669140480',
      '/sys/class/drm/card0/device/hwmon/hwmon1/temp2_input': '51000',
      '/sys/class/drm/card1/device/vendor': '0x8086',
      '/sys/class/drm/card1/device/uevent': 'PCI_SLOT_NAME=0000:07:00.0',
      '/sys/class/drm/card1/device/tile0/physical_vram_size_bytes': '12809404416',
    },
    devices: [
      { memory_total_mb: 24480, util_gpu: null, temperature_c: 51 },
      { memory_total_mb: 12216, util_gpu: null, temperature_c: null },
    ],
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
    },
    tools: { ioreg: prints(fixture('ioreg.txt')) },
    devices: [
      {
        name: 'Apple M4',
        memory_total_mb: OWN_MB,
        memory_used_mb: 335,
        memory_free_mb: OWN_MB - 335,
        util_gpu: 21,
        util_memory: null,
        temperature_c: null,
      },
    ],
    chip: { chip_family: 'M4', gpu_cores: 10, memory_bandwidth_gbs: 120 },
  },
  {
    // ioreg-m1.txt: an older system, whose ioreg names neither chip nor cores.
    name: 'an M1 of 2021',
    platform: 'darwin',
    library: {
      graphics: [{ vendor: 'Apple', model: 'Apple M1 Pro', vramDynamic: true, cores: '14' }],
    },
    tools: { ioreg: prints(fixture('ioreg-m1.txt')) },
    devices: [{ name: 'Apple M1 Pro', memory_used_mb: 325, util_gpu: 2 }],
    chip: { gpu_cores: 14, memory_bandwidth_gbs: 200 },
  },
  {
    // akash-network/provider-configs#7: the display chip of a server.
    name: 'a server without a GPU',
    tools: {
      lspci: lspci([
        '12:00.0 VGA compatible controller: ASPEED Technology, Inc. ASPEED Graphics Family',
        '16M',
      ]),
    },
    devices: [],
  },
  {
    // Crosstalk-Solutions/project-nomad#850: without nvidia-smi, systeminformation gives a GTX 1050 Ti 32 MB.
    name: 'a card without a driver, which cannot serve',
    tools: {
      lspci: lspci([
        '01:00.0 VGA compatible controller: NVIDIA Corporation GP107 [GeForce GTX 1050 Ti] (rev a1)',
        '32M',
      ]),
    },
    devices: [],
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
  },
];

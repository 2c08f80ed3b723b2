import { numberOf } from '../../platform/json.ts';
import { type GpuCollector, type GpuDevice, GpuTable, type Problem, UNREAD } from './gpu-device.ts';
import { type LongTool, SupervisedTool } from './supervised-tool.ts';
import type { ToolEdges } from './tool-process.ts';

const TOOL = 'nvidia-smi';
/** WSL and some container images keep it outside the search path. */
const COMMANDS = [
  TOOL,
  '/usr/lib/wsl/lib/nvidia-smi',
  '/usr/bin/nvidia-smi',
  '/opt/bin/nvidia-smi',
];

/**
 * Reads NVIDIA cards through one long-running `nvidia-smi`: starting it for each reading loads the driver
 * each time.
 */
export function createNvidiaCollector(edges: ToolEdges, intervalMs: number): GpuCollector {
  const cards = new GpuTable(edges.clock, 3 * intervalMs);
  const tool = new SupervisedTool(
    longTool(intervalMs),
    {
      onLine(line) {
        const device = parseNvidiaRow(line);
        if (device !== null) cards.add(device);
        return device !== null;
      },
      onBarren: () => cards.clear(),
    },
    edges,
  );
  return {
    start: () => tool.start(),
    stop: () => tool.stop(),
    read() {
      const { health } = tool;
      if (health.kind === 'absent') return { state: 'absent', devices: [], problems: [] };
      const devices = cards.devices();
      const problems = cardProblems(cards);
      if (health.kind === 'failing')
        return { state: 'failing', devices, problems: [health.problem, ...problems] };
      return { state: devices.length === 0 ? 'starting' : 'reading', devices, problems };
    },
  };
}

function longTool(intervalMs: number): LongTool {
  const seconds = Math.max(1, Math.round(intervalMs / 1000));
  return {
    tool: TOOL,
    commands: COMMANDS,
    queries: NVIDIA_QUERIES.map((fields) => [
      `--query-gpu=${fields}`,
      '--format=csv,noheader,nounits',
      `--loop=${seconds}`,
    ]),
    intervalMs,
    isTooNew: (message) => message.includes('is not a valid field'),
    remedyFor,
  };
}

function cardProblems(cards: GpuTable): readonly Problem[] {
  const faults = cards.devices().filter(({ fault }) => fault !== null);
  return [
    ...faults.map((card) => cardProblem(card, card.fault ?? '')),
    ...cards.lost().map((card) => cardProblem(card, 'the driver no longer lists it')),
  ];
}

function cardProblem({ name, key }: GpuDevice, happened: string): Problem {
  return {
    tool: TOOL,
    tried: `reading ${name ?? 'a GPU'} (${key})`,
    happened,
    remedy: remedyFor(happened),
  };
}

/** Driver messages and what helps; from NVIDIA's documentation of nvidia-smi and Xid errors. */
const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [/version mismatch/i, 'The driver was updated while it was in use: restart this machine.'],
  [
    /communicate with the NVIDIA driver|NVIDIA-SMI has failed/i,
    'Install the NVIDIA driver, or load it again (`sudo modprobe nvidia`).',
  ],
  [
    /No devices were found/i,
    'Check with `lspci` that the card is seen, then its power and its slot.',
  ],
  [
    /lost|no longer lists|device handle|requires reset|Unknown Error/i,
    'Restart this machine; if it happens again, look for "Xid" in `dmesg` and check the power and the slot of the card.',
  ],
  [/Insufficient Permissions/i, 'Run the agent as a user who may read the GPU.'],
  [/hung/i, 'The driver does not answer: look for "NVRM" in `dmesg`, and restart this machine.'],
];

function remedyFor(message: string): string {
  const known = REMEDIES.find(([pattern]) => pattern.test(message));
  return known?.[1] ?? 'Run `nvidia-smi` by hand and see what it says.';
}

/** Fields of every driver since 2013; the name is asked for last because it may hold a comma. */
const BASIC_FIELDS = [
  'index',
  'uuid',
  'memory.total',
  'memory.used',
  'memory.free',
  'utilization.gpu',
  'utilization.memory',
  'temperature.gpu',
] as const;

/** `compute_cap` came with driver 510, `mig.mode.current` with 450. */
const FULL_FIELDS = [...BASIC_FIELDS, 'mig.mode.current', 'compute_cap'] as const;

/** Field lists for `--query-gpu`, the fullest first; the parser tells them apart by their length. */
const NVIDIA_QUERIES = [
  [...FULL_FIELDS, 'name'].join(','),
  [...BASIC_FIELDS, 'name'].join(','),
] as const;

type Field = (typeof FULL_FIELDS)[number];

/** Chips without memory of their own answer N/A: GB10 (DGX Spark), Jetson's Orin and Thor. */
const UNIFIED_NAME = /\b(GB10|Orin|Thor|Tegra)\b/i;
/** NVML's messages for a card that has fallen off the bus or needs a reset. */
const FAULT = /GPU is lost|requires reset|Unknown Error/i;
const UUID = /^(GPU|MIG)-[\w-]{4,64}$/;

/**
 * Reads one row of `nvidia-smi --query-gpu=… --format=csv,noheader,nounits`; null where the line is
 * something else.
 */
export function parseNvidiaRow(line: string): GpuDevice | null {
  const values = line.split(',').map((value) => value.trim());
  const fields = fieldsOf(values);
  if (fields === null) return null;
  const value = (field: Field) => values[fields.indexOf(field)] ?? '';
  const number = (field: Field) => numberOf(value(field));
  const index = number('index');
  if (index === null || !Number.isInteger(index)) return null;
  const name = knownText(values.slice(fields.length).join(', '));
  const uuid = value('uuid');
  const memoryTotalMb = number('memory.total');
  const isPartitioned = value('mig.mode.current') === 'Enabled';
  return {
    ...UNREAD,
    key: UUID.test(uuid) ? uuid : `nvidia-${index}`,
    vendor: 'nvidia',
    name,
    memoryTotalMb,
    memoryUsedMb: number('memory.used'),
    memoryFreeMb: number('memory.free'),
    utilGpu: number('utilization.gpu'),
    utilMemory: number('utilization.memory'),
    temperatureC: number('temperature.gpu'),
    computeCapability: knownText(value('compute_cap')),
    isUnified: memoryTotalMb === null && !isPartitioned && UNIFIED_NAME.test(name ?? ''),
    fault: faultOf(values),
  };
}

/** The field list of a row: only the full one has a MIG mode in its place. */
function fieldsOf(values: readonly string[]): readonly Field[] | null {
  const mig = values[FULL_FIELDS.indexOf('mig.mode.current')] ?? '';
  const isFull = /^(Enabled|Disabled)$/.test(mig) || mig.startsWith('[') || mig === 'N/A';
  if (isFull && values.length > FULL_FIELDS.length) return FULL_FIELDS;
  return values.length > BASIC_FIELDS.length ? BASIC_FIELDS : null;
}

/** A working card prints `[N/A]` for single fields; a lost one prints its fault in most of them. */
function faultOf(values: readonly string[]): string | null {
  const words = values.filter((value) => FAULT.test(value));
  return words.length * 2 > values.length ? (words[0]?.replaceAll(/[[\]]/g, '') ?? null) : null;
}

function knownText(value: string): string | null {
  return value === '' || value === 'N/A' || value.startsWith('[') ? null : value;
}

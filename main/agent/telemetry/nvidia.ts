import type { AgentProblem } from '#shared/agent.ts';
import { withTimeout } from '../../platform/async.ts';
import { numberOf } from '../../platform/json.ts';
import { type GpuDevice, isLive, parsePciAddress, deviceOf } from './gpu-device.ts';
import { ABSENT, createPollCollector, type GpuCollector, type Poll, readingOf } from './poll.ts';
import { runFirst, type ToolEdges, toolProblem } from './tool-process.ts';

const TOOL = 'nvidia-smi';
/** WSL and some container images install it outside the search path. */
const NVIDIA_SMI: readonly string[] = [
  TOOL,
  '/usr/lib/wsl/lib/nvidia-smi',
  '/usr/bin/nvidia-smi',
  '/opt/bin/nvidia-smi',
];
/** Without persistence mode the driver is loaded for each first call, which took 25 to 40 s on large machines. */
const TIMEOUT_MS = 45_000;
/** The first heartbeat waits 3 s for GPUs; systeminformation takes longer on Windows, or if it hangs. */
const LIBRARY_WAIT_MS = 2000;
/** An answer is reused while the library lacks the same values, but at most this long. */
const ANSWER_MS = 300_000;

/** Fields that identify a card. */
const IDENTITY = ['index', 'uuid', 'pci.bus_id'];
/** nvidia-smi's fields for values that systeminformation may have; the name is last because it may contain a comma. */
const FIELD_OF = {
  memoryTotalMb: 'memory.total',
  memoryUsedMb: 'memory.used',
  memoryFreeMb: 'memory.free',
  utilGpu: 'utilization.gpu',
  utilMemory: 'utilization.memory',
  temperatureC: 'temperature.gpu',
  powerW: 'power.draw',
  name: 'name',
} as const;
type Value = keyof typeof FIELD_OF;
const VALUES = Object.keys(FIELD_OF) as readonly Value[];

/**
 * Reads what systeminformation does not know of NVIDIA cards, in one call of nvidia-smi for just these fields: UUID and
 * faults; whether a value that it leaves out is 0 or not reported; everything if it does not see the card, as in
 * containers and WSL without a row of lspci; and live values on Windows.
 */
export function createNvidiaCollector(edges: ToolEdges, library: GpuCollector): GpuCollector {
  const { clock } = edges;
  let asked: { readonly gaps: string; readonly ticks: number; readonly poll: Poll } | null = null;
  const seen = new Map<string, GpuDevice>();

  async function poll(signal: AbortSignal, isHurried: boolean): Promise<Poll> {
    if (isHurried) asked = null;
    await withTimeout(library.settled(), { clock, ms: LIBRARY_WAIT_MS, signal });
    const known = library.read().devices.filter(({ vendor }) => vendor === 'nvidia');
    const isComplete = known.length > 0 && known.length >= seen.size;
    const isCovered = isComplete && known.every(isLive);
    const gaps = JSON.stringify(
      known.map((card) => VALUES.filter((value) => card[value] === null)),
    );
    const isFresh = asked !== null && clock.ticks() - asked.ticks < ANSWER_MS;
    if (asked !== null && isCovered && isFresh && asked.gaps === gaps) return asked.poll;
    const missing = VALUES.filter((value) => known.some((card) => card[value] === null));
    const result = await ask(isComplete ? missing : VALUES, known, signal);
    asked = result.state === 'reading' ? { gaps, ticks: clock.ticks(), poll: result } : null;
    return result;
  }

  /** `failures` are those of this round, each because of another lost card. */
  async function ask(
    missing: readonly Value[],
    known: readonly GpuDevice[],
    signal: AbortSignal,
    failures: readonly AgentProblem[] = [],
  ): Promise<Poll> {
    const columns = [...IDENTITY, ...missing.map((value) => FIELD_OF[value])];
    const others = othersThan(failures, [...seen.values(), ...known]);
    const ids = failures.length === 0 ? [] : [`--id=${others.join(',')}`];
    const args = [...ids, `--query-gpu=${columns.join(',')}`, '--format=csv,noheader,nounits'];
    const result = await runFirst(NVIDIA_SMI, args, { ...edges, timeoutMs: TIMEOUT_MS }, signal);
    if (result.kind === 'missing') return ABSENT;
    // The tool also fails if one of several cards is lost, after printing the rows of the others.
    const text = result.kind === 'output' || result.kind === 'failed' ? result.text : '';
    const rows = text.split('\n').flatMap((line) => parseNvidiaRow(line, columns) ?? []);
    if (rows.length === 0) {
      const failed = toolProblem([TOOL, ...args], result, remedyFor);
      const all = [...failures, ...failed.problems];
      const [lostAt = null] = failed.problems.map(lostIn);
      const isNew = lostAt !== null && failures.every((each) => lostIn(each) !== lostAt);
      // It tells nothing of the other cards then, which work on (meta-llama/llama-models#200).
      return isNew && othersThan(all, [...seen.values(), ...known]).length > 0
        ? ask(missing, known, signal, all)
        : failed;
    }
    if (rows.length > known.length && missing !== VALUES)
      return ask(VALUES, known, signal, failures);
    for (const row of rows) seen.set(row.key, row);
    const lost = [...seen.values()].filter(({ key }) => rows.every((row) => row.key !== key));
    const problems = [
      ...failures,
      ...rows.filter(({ fault }) => fault !== null).map((row) => cardProblem(row, row.fault ?? '')),
      ...lost
        .filter(({ pciAddress }) => !failures.some((each) => lostIn(each) === pciAddress))
        .map((row) => cardProblem(row, 'the driver no longer lists it')),
    ];
    return readingOf(rows, problems);
  }

  return createPollCollector(TOOL, clock, poll);
}

/** The PCI address of the card that made nvidia-smi fail; null if another cause did. */
function lostIn({ happened }: AgentProblem): string | null {
  const address = /device handle for GPU ?([\da-f:.]+): /i.exec(happened)?.[1];
  return parsePciAddress(address ?? null);
}

/** What nvidia-smi calls the cards that made none of the failures; a PCI address where the UUID is not known. */
function othersThan(
  failures: readonly AgentProblem[],
  cards: readonly GpuDevice[],
): readonly string[] {
  const lost = failures.map(lostIn);
  const names = new Map<string, string>();
  for (const { key, pciAddress } of cards) {
    if (pciAddress === null || lost.includes(pciAddress) || names.has(pciAddress)) continue;
    names.set(pciAddress, UUID.test(key) ? key : pciAddress);
  }
  return [...names.values()];
}

function cardProblem({ name, key }: GpuDevice, happened: string): AgentProblem {
  const tried = `reading ${name ?? 'a GPU'} (${key})`;
  return { tool: TOOL, tried, happened, remedy: remedyFor(happened) };
}

/** Driver messages and their remedies; from NVIDIA's documentation of nvidia-smi and Xid errors. */
const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [
    // NVIDIA/nvidia-container-toolkit#48. A card's own fault names the card.
    /NVML: Unknown Error/i,
    'If this runs in a container, restart the container: `systemctl daemon-reload` on its host takes the GPUs away. Otherwise restart this machine.',
  ],
  [
    // microsoft/WSL#9962, #10289.
    /blocked by the operating system/i,
    'WSL uses the driver of Windows: update that and WSL (`wsl --update`), then `wsl --shutdown`. A container in WSL needs `--gpus all`.',
  ],
  [
    /libnvidia-ml/i,
    'Install the NVIDIA driver. A container needs `--gpus all` and NVIDIA_DRIVER_CAPABILITIES=compute,utility.',
  ],
  [/version mismatch/i, 'The driver was updated while it was in use: restart this machine.'],
  [
    /communicate with the NVIDIA driver|NVIDIA-SMI has failed/i,
    'Install the NVIDIA driver, or load it again (`sudo modprobe nvidia`).',
  ],
  [
    /No devices were found/i,
    'Check with `lspci` that the card is visible, then check its power and its slot.',
  ],
  [
    /lost|no longer lists|device handle|requires reset|Unknown Error/i,
    'Restart this machine; if it happens again, look for "Xid" in `dmesg` and check the power and the slot of the card.',
  ],
  [/Insufficient Permissions/i, 'Run the agent as a user with access to the GPU.'],
  [/hung/i, 'The driver does not answer: look for "NVRM" in `dmesg`, and restart this machine.'],
];

function remedyFor(message: string): string {
  const known = REMEDIES.find(([pattern]) => pattern.test(message));
  return known?.[1] ?? 'Run `nvidia-smi` by hand and check its output.';
}

/** NVML's messages for a card that has fallen off the bus or needs a reset. */
const FAULT = /GPU is lost|requires reset|Unknown Error/i;
const UUID = /^(GPU|MIG)-[\w-]{4,64}$/;

/** Reads one row of `nvidia-smi --query-gpu=… --format=csv,noheader,nounits` with these fields; null for any other line. */
export function parseNvidiaRow(line: string, columns: readonly string[]): GpuDevice | null {
  const cells = line.split(',').map((cell) => cell.trim());
  if (columns.at(-1) === 'name') cells.push(cells.splice(columns.length - 1).join(', '));
  if (cells.length !== columns.length) return null;
  const cell = (column: string) => cells[columns.indexOf(column)] ?? '';
  const number = (value: Value) => numberOf(cell(FIELD_OF[value]));
  const index = numberOf(cell('index'));
  if (index === null || !Number.isInteger(index)) return null;
  const uuid = cell('uuid');
  const faults = cells.filter((each) => FAULT.test(each));
  return deviceOf({
    key: UUID.test(uuid) ? uuid : `nvidia-${index}`,
    vendor: 'nvidia',
    pciAddress: parsePciAddress(cell('pci.bus_id')),
    name: knownText(cell('name')),
    memoryTotalMb: number('memoryTotalMb'),
    memoryUsedMb: number('memoryUsedMb'),
    memoryFreeMb: number('memoryFreeMb'),
    utilGpu: number('utilGpu'),
    utilMemory: number('utilMemory'),
    temperatureC: number('temperatureC'),
    powerW: number('powerW'),
    // A working card may print it in place of its power and its load; a lost one, in most fields that do not identify it.
    fault:
      (faults.length - 1) * 2 > columns.length - IDENTITY.length
        ? (faults[0]?.replaceAll(/[[\]]/g, '') ?? null)
        : null,
  });
}

function knownText(value: string): string | null {
  return value === '' || value === 'N/A' || value.startsWith('[') ? null : value;
}

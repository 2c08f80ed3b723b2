import { ToolKeeper, type LongTool } from './keeper.ts';
import { NVIDIA_QUERIES, parseNvidiaRow } from './nvidia-csv.ts';
import type { GpuCollector, GpuDevice, Problem } from './reading.ts';
import { GpuRoster } from './roster.ts';
import type { ToolEdges } from './run-tool.ts';

const TOOL = 'nvidia-smi';
/** WSL and some container images keep it off the search path. */
const COMMANDS = [
  TOOL,
  '/usr/lib/wsl/lib/nvidia-smi',
  '/usr/bin/nvidia-smi',
  '/opt/bin/nvidia-smi',
];

/**
 * Reads NVIDIA cards through one `nvidia-smi` that runs as long as we do: starting it anew for each
 * reading loads the driver each time.
 */
export function createNvidiaCollector(edges: ToolEdges, intervalMs: number): GpuCollector {
  const roster = new GpuRoster(edges.clock, 3 * intervalMs);
  const keeper = new ToolKeeper(
    longTool(intervalMs),
    {
      onLine(line) {
        const device = parseNvidiaRow(line);
        if (device !== null) roster.add(device);
        return device !== null;
      },
      onBarren: () => roster.clear(),
    },
    edges,
  );
  return {
    start: () => keeper.start(),
    stop: () => keeper.stop(),
    read() {
      const devices = roster.devices();
      const { problem } = keeper;
      const problems = [...(problem === null ? [] : [problem]), ...cardProblems(roster)];
      if (keeper.isAbsent) return { state: 'absent', devices: [], problems: [] };
      if (problem !== null) return { state: 'failing', devices, problems };
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
    isTooNew: (said) => said.includes('is not a valid field'),
    remedyFor,
  };
}

function cardProblems(roster: GpuRoster): readonly Problem[] {
  const faults = roster.devices().filter(({ fault }) => fault !== null);
  return [
    ...faults.map((card) => cardProblem(card, card.fault ?? '')),
    ...roster.lost().map((card) => cardProblem(card, 'the driver no longer lists it')),
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

/** The driver's own messages, and what helps; from NVIDIA's documentation of nvidia-smi and Xid errors. */
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

function remedyFor(said: string): string {
  const known = REMEDIES.find(([words]) => words.test(said));
  return known?.[1] ?? 'Run `nvidia-smi` by hand and see what it says.';
}

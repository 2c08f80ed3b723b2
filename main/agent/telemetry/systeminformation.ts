import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { listOf, memberOf, numberOf, parseJson, textOf } from '../../platform/json.ts';
import { marketedName } from './amd.ts';
import {
  GPU_VENDORS,
  type GpuDevice,
  type GpuVendor,
  isLive,
  outOfDate,
  parsePciAddress,
  deviceOf,
} from './gpu-device.ts';
import { createPollCollector, type Poll, readingOf } from './poll.ts';
import type { HelperTopic } from './systeminformation-helper.ts';
import { runFirst, type StartTool, type ToolEdges, toolProblem } from './tool-process.ts';

const LIBRARY = 'systeminformation';

interface LibraryEdges extends Pick<ToolEdges, 'clock'> {
  readonly platform: NodeJS.Platform;
  /** Starts the helper; its command is the helper's file. */
  readonly startHelper: StartTool;
}

/** The helper lies next to this file and has its extension, in a bundle too. */
const HELPER = fileURLToPath(
  new URL(`./systeminformation-helper${extname(import.meta.filename)}`, import.meta.url),
);
/** It runs nvidia-smi, which loads the driver if nothing else keeps it loaded. */
const TIMEOUT_MS = 20_000;
/** A reading costs 80 ms of CPU time; the budget of an idle machine for everything is 150 ms in 15 s. */
const IDLE_ROUNDS = 2;
const BUSY_PERCENT = 10;
const isBusy = ({ utilGpu }: GpuDevice) => (utilGpu ?? 0) > BUSY_PERCENT;
/** Cards without live values change only when one is plugged in. */
const SLOW_ROUNDS = 20;
const REMEDY =
  'Nothing to do: readings continue without it, and what only it reports stays unknown.';
const NO_FACTS = factsOf(null);

/**
 * Asks systeminformation in a short-lived helper process: for everything at the start, then in each round for what
 * changes. It has live values only for NVIDIA cards. On Windows they cost eight PowerShell processes a round
 * (sebhildebrandt/systeminformation#932), too many for an idle machine, so there it is asked once.
 */
export function createLibrary({ clock, platform, startHelper }: LibraryEdges) {
  let facts: ReturnType<typeof factsOf> | null = null;
  let devices: readonly GpuDevice[] = [];
  let rounds = 0;

  function topics(): readonly HelperTopic[] {
    if (facts === null) return ['machine', 'graphics'];
    const every = devices.some(isBusy) ? 1 : devices.some(isLive) ? IDLE_ROUNDS : SLOW_ROUNDS;
    return rounds % every === 0 && platform === 'linux' ? ['graphics'] : [];
  }

  async function poll(signal: AbortSignal, isHurried: boolean): Promise<Poll> {
    if (isHurried) rounds = 0;
    const args = topics();
    rounds += 1;
    if (platform !== 'linux') devices = devices.map(outOfDate);
    if (args.length === 0) return readingOf(devices);
    const helper = { startTool: startHelper, clock, timeoutMs: TIMEOUT_MS };
    const result = await runFirst([HELPER], args, helper, signal);
    const answer = result.kind === 'output' ? parseJson(result.text) : undefined;
    if (answer === undefined) return toolProblem([LIBRARY, ...args], result, REMEDY);
    facts ??= factsOf(memberOf(answer, 'machine'));
    devices = listOf(memberOf(answer, 'graphics')).flatMap((each, at) =>
      libraryCard(each, at, platform),
    );
    return readingOf(devices);
  }

  return { gpus: createPollCollector(LIBRARY, clock, poll), facts: () => facts ?? NO_FACTS };
}

/** Facts that do not change while the machine runs; null if systeminformation does not report them. */
function factsOf(machine: unknown) {
  return {
    machineModel: machineModel(memberOf(machine, 'manufacturer'), memberOf(machine, 'model')),
    performanceCores: numberOf(memberOf(machine, 'performanceCores')),
    efficiencyCores: numberOf(memberOf(machine, 'efficiencyCores')),
  };
}

/** What board vendors and containers report instead of a model. */
const PLACEHOLDER =
  /^(to be filled|default string|system (product name|manufacturer|version)|not (specified|applicable|available)|none|unknown|o\.?e\.?m\.?|docker container|0+|-+|\.+)\b/i;

/** Vendor and model in one line; null if the board does not report them. */
export function machineModel(manufacturer: unknown, model: unknown): string | null {
  const known = [manufacturer, model]
    .map((value) => textOf(value))
    .map((text) => (text === null || PLACEHOLDER.test(text) ? null : text));
  const [maker = null, name = null] = known;
  if (name === null) return null;
  return maker === null || name.startsWith(maker) ? name : `${maker} ${name}`;
}

const VENDORS = Object.keys(GPU_VENDORS) as readonly GpuVendor[];

/**
 * A controller of `graphics()`. It omits a value of 0 as if the card did not report it. Its `vram` on Linux is lspci's
 * largest memory region, 32 MiB of a card with 4 GiB (Crosstalk-Solutions/project-nomad#850).
 */
function libraryCard(
  controller: unknown,
  position: number,
  platform: NodeJS.Platform,
): readonly GpuDevice[] {
  const text = (name: string) => textOf(memberOf(controller, name));
  const number = (name: string) => numberOf(memberOf(controller, name));
  const words = `${text('vendor')} ${text('model')}`;
  const vendor = VENDORS.find((each) => GPU_VENDORS[each].words.test(words));
  if (vendor === undefined) return [];
  const address = parsePciAddress(text('pciBus')) ?? parsePciAddress(text('busAddress'));
  const isOwnMemory = platform !== 'linux' && memberOf(controller, 'vramDynamic') !== true;
  return [
    deviceOf({
      key: address ?? `${vendor}-${position}`,
      vendor,
      pciAddress: address,
      name: text('name') ?? marketedName(text('model')),
      memoryTotalMb: number('memoryTotal') ?? (isOwnMemory ? number('vram') : null),
      memoryUsedMb: number('memoryUsed'),
      memoryFreeMb: number('memoryFree'),
      utilGpu: number('utilizationGpu'),
      utilMemory: number('utilizationMemory'),
      temperatureC: number('temperatureGpu'),
      powerW: number('powerDraw'),
      gpuCores: number('cores'),
    }),
  ];
}

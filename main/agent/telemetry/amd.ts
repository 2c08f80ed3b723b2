import {
  parseAmdSmiMetric,
  parseAmdSmiStatic,
  parseRocmSmi,
  ROCM_SMI_ARGS,
  type AmdName,
} from './amd-json.ts';
import { readAmdSysfs } from './amd-sysfs.ts';
import type { KernelFiles } from './files.ts';
import { createPollCollector, type Poll } from './poll.ts';
import { runFirst, toolProblem } from './places.ts';
import type { GpuCollector, GpuDevice } from './reading.ts';
import type { ToolEdges } from './run-tool.ts';

/** ROCm installs its tools off the search path. */
const AMD_SMI = ['amd-smi', '/opt/rocm/bin/amd-smi'];
const ROCM_SMI = ['rocm-smi', '/opt/rocm/bin/rocm-smi'];
const REMEDY =
  'Run `amd-smi metric` by hand; if it hangs as well, look for "amdgpu" in `dmesg` and restart this machine.';
/** Names do not change; a tool that could not tell them is asked again after so many rounds. */
const NAME_ROUNDS = 60;

/** Reads AMD cards: from the files of the driver where there are any, else through AMD's tools. */
export function createAmdCollector(
  edges: ToolEdges,
  files: KernelFiles,
  intervalMs: number,
): GpuCollector {
  let names: readonly AmdName[] = [];
  let roundsToNames = 0;

  async function learnNames(signal: AbortSignal): Promise<void> {
    roundsToNames -= 1;
    if (names.length > 0 || roundsToNames > 0) return;
    roundsToNames = NAME_ROUNDS;
    const asked = await runFirst(AMD_SMI, ['static', '--asic', '--bus', '--json'], edges, signal);
    if (asked.kind === 'output') names = parseAmdSmiStatic(asked.text);
  }

  async function poll(signal: AbortSignal): Promise<Poll> {
    const cards = await readAmdSysfs(files);
    if (cards.length === 0) return pollTools(signal);
    if (cards.some(({ name }) => name === null)) await learnNames(signal);
    return { kind: 'devices', devices: cards.map((card) => named(card, names)), problems: [] };
  }

  async function pollTools(signal: AbortSignal): Promise<Poll> {
    const args = ['metric', '--usage', '--temperature', '--mem-usage', '--json'];
    const metric = await runFirst(AMD_SMI, args, edges, signal);
    const cards = metric.kind === 'output' ? parseAmdSmiMetric(metric.text) : null;
    if (cards !== null) {
      await learnNames(signal);
      return { kind: 'devices', devices: cards.map((card) => named(card, names)), problems: [] };
    }
    if (metric.kind === 'hung') return toolProblem(['amd-smi', ...args], metric, REMEDY);
    const rocm = await runFirst(ROCM_SMI, ROCM_SMI_ARGS, edges, signal);
    const devices = rocm.kind === 'output' ? parseRocmSmi(rocm.text) : null;
    if (devices !== null) return { kind: 'devices', devices, problems: [] };
    if (rocm.kind !== 'missing') return toolProblem(['rocm-smi', ...ROCM_SMI_ARGS], rocm, REMEDY);
    return metric.kind === 'missing'
      ? { kind: 'absent' }
      : toolProblem(['amd-smi', ...args], metric, REMEDY);
  }

  return createPollCollector(poll, { clock: edges.clock, intervalMs, source: '/sys/class/drm' });
}

function named(card: GpuDevice, names: readonly AmdName[]): GpuDevice {
  const told = names.find(({ key, pciAddress }) => card.key === pciAddress || card.key === key);
  return { ...card, name: card.name ?? told?.name ?? null, key: told?.pciAddress ?? card.key };
}

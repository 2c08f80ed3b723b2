import { type AgentRecord, CHECKS } from '#shared/provider.ts';
import { sleep, type Clock } from '../../platform/clock.ts';
import { readingsText } from '../telemetry/gpu-device.ts';
import type { Telemetry, TelemetryWatch } from '../telemetry/telemetry.ts';
import { shown, type DoctorEntry } from './report.ts';

/** Driver tools may take seconds, especially on the first call. */
const READING_MS = 10_000;
const POLL_MS = 100;

/** The first GPU reading, or what is known when that takes too long. */
export async function firstReading(telemetry: TelemetryWatch, clock: Clock): Promise<Telemetry> {
  const untilTicks = clock.ticks() + READING_MS;
  const { signal } = new AbortController();
  for (;;) {
    const reading = telemetry.read();
    if (reading.gpus.state !== 'starting' || clock.ticks() >= untilTicks) return reading;
    await sleep(clock, POLL_MS, signal);
  }
}

/** Whether the drivers report an accelerator, as the next heartbeat would state it. */
export function checkGpus(
  { gpu }: AgentRecord,
  { gpus }: Telemetry,
  engineUrl: string | null,
): DoctorEntry {
  const passed = gpu.count > 0;
  const [problem] = gpus.problems;
  const cards = gpus.devices
    .filter(({ fault }) => fault === null)
    .map((device, index) => `${gpu.devices[index]?.name}: ${readingsText(device)}`);
  const faults = gpus.devices.flatMap(({ name, fault }) =>
    fault === null ? [] : [`${name ?? 'a GPU'}: ${fault}`],
  );
  const problems = gpus.problems.map(({ tool, happened }) => `${tool}: ${happened}`);
  const output = passed ? cards : [...faults, ...problems];
  return {
    name: CHECKS.gpuCount,
    passed,
    tried: problem?.tried ?? 'the tools and files of the GPU drivers',
    output: shown(output.join('; ') || 'no answer from the drivers yet'),
    remedy: passed ? null : remedyWithout(problem?.remedy ?? LOOK_AT_TOOL, engineUrl),
  };
}

const LOOK_AT_TOOL = 'Run the tool of the GPU driver by itself and see what it says.';

/** Gateways accept no machine without a GPU, but this machine's own gateway can use the engine without the agent. */
function remedyWithout(remedy: string, engineUrl: string | null): string {
  return engineUrl === null
    ? remedy
    : `${remedy} If it has none, let Switchyard use the engine directly: switchyard set local.baseUrl ${engineUrl}`;
}

/** Whether the engine reports itself healthy, as the next heartbeat would state it. */
export function checkEngineHealth(
  { engine_health: health }: AgentRecord,
  baseUrl: string | null,
): DoctorEntry {
  const passed = health.status === 'ok';
  return {
    name: CHECKS.engineHealth,
    passed,
    tried: baseUrl === null ? 'nothing: no engine was found' : `the health of ${baseUrl}`,
    output: shown(JSON.stringify(health)),
    remedy: passed ? null : (REMEDIES[health.status] ?? 'Check the log of the engine.'),
  };
}

const REMEDIES: Readonly<Record<string, string>> = {
  'no engine found': 'Start an engine, or set SWITCHYARD_ENGINE_URL to its address.',
  loading: 'Wait until the engine has loaded its model.',
  unauthorized:
    'The engine requires a key: set SWITCHYARD_ENGINE_URL to its address and SWITCHYARD_ENGINE_API_KEY to its key.',
  unreachable: 'Start the engine, or correct SWITCHYARD_ENGINE_URL.',
  unresponsive: 'It accepts connections but does not answer: restart the engine.',
};

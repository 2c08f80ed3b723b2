import type { AgentRecord } from '#shared/provider.ts';
import { interfaceAddresses } from './addresses.ts';
import type { Availability } from './availability/availability.ts';
import type { AgentContext } from './context.ts';
import type { PowerWatch } from './energy.ts';
import type { EngineWatch } from './engines/watch.ts';
import type { MemoryKeeper } from './memory.ts';
import type { Registration } from './registration/registration.ts';
import { OWN_COMMAND } from '../platform/process.ts';

interface WatchedParts {
  readonly availability: Availability;
  readonly engines: EngineWatch;
  readonly memory: MemoryKeeper;
  readonly power: PowerWatch;
  readonly registration: Registration;
  readonly record: (isLeaving: boolean) => AgentRecord;
}

/** There are three checks per heartbeat. */
const INTERVAL_MS = 5000;
/** Wall clock and monotonic clock drift apart by more than this only during a suspend, or when the time is set. */
const MAX_DRIFT_MS = 5000;

/** Detects what no event reports, such as a suspend or another network, and evaluates the rules at an interval. */
export function createChangeMonitor(
  { clock, telemetry, log }: AgentContext,
  { availability, engines, memory, power, registration, record: recordNow }: WatchedParts,
) {
  let cancelTimer = () => {};
  let driftMs = clock.now() - clock.ticks();
  let network = '';
  let reported = '';
  let hasWarned = false;

  function tick(): void {
    cancelTimer = clock.after(INTERVAL_MS, tick);
    const drift = clock.now() - clock.ticks();
    const hasSlept = Math.abs(drift - driftMs) > MAX_DRIFT_MS;
    driftMs = drift;
    availability.look();
    memory.look();
    power.look();
    const before = network;
    network = networkNow();
    // After sleep, everything known may be wrong.
    if (hasSlept) {
      engines.look();
      telemetry.look();
    }
    if (hasSlept || network !== before) registration.now();
    look();
  }

  function networkNow(): string {
    return JSON.stringify([interfaceAddresses(), telemetry.read().tailnet]);
  }

  /** Warns once that no gateway sends requests here although an engine is healthy. */
  function warnWithoutGpu({ gpu, engine_health }: AgentRecord): void {
    const { state, problems } = telemetry.read().gpus;
    if (hasWarned || gpu.count > 0 || state === 'starting' || engine_health.status !== 'ok') return;
    hasWarned = true;
    const why = problems.map(({ tool, happened }) => `${tool}: ${happened}`).join('; ');
    const todo = `run "${OWN_COMMAND} doctor"`;
    log('warn', 'no_gpu', { effect: 'no gateway sends requests here', why, todo });
  }

  function look(): void {
    const record = recordNow(false);
    warnWithoutGpu(record);
    const now = reportedParts(record);
    if (now === reported) return;
    reported = now;
    registration.changed();
  }

  return {
    start() {
      driftMs = clock.now() - clock.ticks();
      network = networkNow();
      reported = reportedParts(recordNow(false));
      availability.start();
      cancelTimer = clock.after(INTERVAL_MS, tick);
    },
    /** Compares the record with the one last reported, and requests a heartbeat if the difference matters. */
    look,
    stop() {
      cancelTimer();
      availability.stop();
    },
  };
}

/** The parts of a record whose change is worth an extra heartbeat; excludes what changes all the time. */
function reportedParts(record: AgentRecord): string {
  const { status, engine_health, models, model_facts, current_model, gpu, host } = record;
  return JSON.stringify([
    // Every request starts and ends a "serving".
    status === 'serving' ? 'idle' : status,
    [engine_health, models, model_facts, current_model, record.engine_model],
    [gpu.count, record.chip, host.tailnet_hostname, record.tailnet_ip],
    [record.agent_url, record.region],
  ]);
}

import type { AgentRecord } from '#shared/provider.ts';
import type { AgentContext } from './context.ts';
import { OWN_COMMAND } from '../platform/process.ts';

interface MonitorParts {
  readonly record: () => AgentRecord;
  /** Each is called at the interval. */
  readonly looks: readonly (() => void)[];
  /** The record differs from the one last reported. */
  readonly changed: () => void;
}

/** There are three checks per heartbeat. */
const INTERVAL_MS = 5000;

/** Detects what no event reports, and evaluates the rules at an interval. */
export function createChangeMonitor(
  { clock, telemetry, log }: AgentContext,
  { record: recordNow, looks, changed }: MonitorParts,
) {
  let cancelTimer = () => {};
  let reported = '';
  let hasWarned = false;

  function tick(): void {
    cancelTimer = clock.after(INTERVAL_MS, tick);
    for (const each of looks) each();
    look();
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
    const record = recordNow();
    warnWithoutGpu(record);
    const now = reportedParts(record);
    if (now === reported) return;
    reported = now;
    changed();
  }

  return {
    start() {
      reported = reportedParts(recordNow());
      cancelTimer = clock.after(INTERVAL_MS, tick);
    },
    /** Compares the record with the one last reported, and requests a heartbeat if the difference matters. */
    look,
    stop: () => cancelTimer(),
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

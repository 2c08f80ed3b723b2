import type { AgentRecord } from '#shared/provider.ts';
import type { Clock } from '../platform/clock.ts';
import { interfaceAddresses } from './addresses.ts';
import type { EngineWatch } from './engines/watch.ts';
import type { Membership } from './membership.ts';
import type { OwnerRules } from './owner.ts';
import type { Ownership } from './owner/ownership.ts';
import type { Inference } from './serve/inference.ts';
import type { TelemetryWatch } from './telemetry/telemetry.ts';

/** Notices what nobody tells: a suspend, another network, a hot GPU, an owner who is back. */
export interface Watchfulness {
  start(): void;
  /** Holds the record against the one last told, and tells the registry if that is news. */
  look(): void;
  /** Judges the owner's rules by this moment. */
  observe(): void;
  /** The machine was asleep: everything that was known may be wrong. */
  resumed(): void;
  /** Rules that are set and that nothing on this machine can judge. */
  unjudged(): readonly (keyof OwnerRules)[];
  stop(): void;
}

/** What it watches, and whom it tells. */
export interface WatchfulnessDeps {
  readonly clock: Clock;
  readonly telemetry: TelemetryWatch;
  readonly surroundings: {
    userIdleMs(): number | null;
    isOnBattery(): boolean | null;
  };
  readonly ownership: Ownership;
  readonly inference: Inference;
  readonly engines: EngineWatch;
  readonly membership: Membership;
  readonly record: (isLeaving: boolean) => AgentRecord;
}

/** As often as GPUs are read. */
const INTERVAL_MS = 5000;
/** Wall clock and monotonic clock part by more than this only by a suspend, or when one sets the time. */
const MAX_DRIFT_MS = 5000;
/** A GPU is still busy with our own work for a moment after the last answer. */
const AFTERGLOW_MS = 5000;

/** Makes it. */
export function createWatchfulness(deps: WatchfulnessDeps): Watchfulness {
  const { clock, telemetry, surroundings, ownership, inference, engines, membership } = deps;
  let cancelTimer = () => {};
  let driftMs = clock.now() - clock.ticks();
  let network = '';
  let told = '';

  function tick(): void {
    cancelTimer = clock.after(INTERVAL_MS, tick);
    const drift = clock.now() - clock.ticks();
    const hasSlept = Math.abs(drift - driftMs) > MAX_DRIFT_MS;
    driftMs = drift;
    observe();
    const before = network;
    network = networkNow();
    if (hasSlept) resumed();
    else if (network !== before) membership.now();
    look();
  }

  function networkNow(): string {
    return JSON.stringify([interfaceAddresses(), telemetry.read().tailnet]);
  }

  function observe(): void {
    const { devices } = telemetry.read().gpus;
    const ended = inference.lastEndedTicks();
    const isWarm = ended !== null && clock.ticks() - ended < AFTERGLOW_MS;
    ownership.observe({
      userIdleMs: surroundings.userIdleMs(),
      isOnBattery: surroundings.isOnBattery(),
      gpuTemperatureC: highest(devices.map(({ temperatureC }) => temperatureC)),
      gpuUtilPercent: highest(devices.map(({ utilGpu }) => utilGpu)),
      isServing: inference.inFlight() > 0 || isWarm,
      ticks: clock.ticks(),
    });
  }

  function look(): void {
    const now = newsworthy(deps.record(false));
    if (now === told) return;
    told = now;
    membership.changed();
  }

  function resumed(): void {
    engines.look();
    membership.now();
  }

  return {
    start() {
      driftMs = clock.now() - clock.ticks();
      network = networkNow();
      told = newsworthy(deps.record(false));
      observe();
      cancelTimer = clock.after(INTERVAL_MS, tick);
    },
    look,
    observe,
    resumed,
    unjudged() {
      const { rules } = ownership.state();
      const { devices } = telemetry.read().gpus;
      const unknown: Partial<Record<keyof OwnerRules, boolean>> = {
        onlyWhenIdle: rules.onlyWhenIdle && surroundings.userIdleMs() === null,
        notOnBattery: rules.notOnBattery && surroundings.isOnBattery() === null,
        maxGpuTemperatureC:
          rules.maxGpuTemperatureC !== null &&
          devices.every(({ temperatureC }) => temperatureC === null),
        yieldToOthers: rules.yieldToOthers && devices.every(({ utilGpu }) => utilGpu === null),
      };
      return RULE_NAMES.filter((name) => unknown[name]);
    },
    stop: () => cancelTimer(),
  };
}

const RULE_NAMES = [
  'onlyWhenIdle',
  'notOnBattery',
  'maxGpuTemperatureC',
  'yieldToOthers',
] as const satisfies readonly (keyof OwnerRules)[];

function highest(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.max(...known);
}

/** What of a record is worth a heartbeat of its own: not what moves all the time. */
function newsworthy(record: AgentRecord): string {
  const { status, engine_health, models, current_model, engine_model, gpu, host } = record;
  return JSON.stringify([
    // Each request begins and ends a "serving".
    status === 'serving' ? 'idle' : status,
    [engine_health, models, current_model, engine_model],
    [gpu.count, record.chip, host.tailnet_hostname, record.tailnet_ip],
    [record.agent_url, record.region],
  ]);
}

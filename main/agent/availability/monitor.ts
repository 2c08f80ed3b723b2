import type { Clock } from '../../platform/clock.ts';
import type { Inference } from '../server/inference.ts';
import type { TelemetryWatch } from '../telemetry/telemetry.ts';
import type { HostActivity } from './host-activity.ts';
import { OWNER_RULES, type OwnerRule } from './policy.ts';
import type { Availability } from './state.ts';

/** Judges the owner's rules by this machine. */
export interface AvailabilityMonitor {
  /** Asks once for everything, so that it is known which rules can be judged here. */
  start(): void;
  /** Judges by what is known now, and asks anew for what the rules need. */
  look(): void;
  /** Rules that nothing on this machine can judge, set or not. */
  unjudgeable(): readonly OwnerRule[];
  stop(): void;
}

/** What it observes, and whom it tells. */
interface AvailabilityMonitorDeps {
  readonly clock: Clock;
  readonly telemetry: TelemetryWatch;
  readonly surroundings: HostActivity;
  readonly ownership: Availability;
  readonly inference: Pick<Inference, 'inFlight' | 'lastEndedTicks'>;
}

/** A GPU is still busy with our own work for a moment after the last answer. */
const AFTERGLOW_MS = 5000;

/** Makes it. */
export function createAvailabilityMonitor(deps: AvailabilityMonitorDeps): AvailabilityMonitor {
  const { clock, telemetry, surroundings, ownership, inference } = deps;
  const stopping = new AbortController();
  const sense = <T>(ask: (signal: AbortSignal) => Promise<T | null>) =>
    createPolledSignal(ask, stopping.signal, judge);
  const userIdleMs = sense((signal) => surroundings.userIdleMs(signal));
  const isOnBattery = sense((signal) => surroundings.isOnBattery(signal));

  function judge(): void {
    const { devices } = telemetry.read().gpus;
    const ended = inference.lastEndedTicks();
    const isWarm = ended !== null && clock.ticks() - ended < AFTERGLOW_MS;
    ownership.observe({
      userIdleMs: userIdleMs.last() ?? null,
      isOnBattery: isOnBattery.last() ?? null,
      gpuTemperatureC: highest(devices.map(({ temperatureC }) => temperatureC)),
      gpuUtilPercent: highest(devices.map(({ utilGpu }) => utilGpu)),
      isServing: inference.inFlight() > 0 || isWarm,
      ticks: clock.ticks(),
    });
  }

  return {
    start() {
      judge();
      userIdleMs.look();
      isOnBattery.look();
    },
    look() {
      const { onlyWhenIdle, notOnBattery } = ownership.rules();
      judge();
      if (onlyWhenIdle) userIdleMs.look();
      if (notOnBattery) isOnBattery.look();
    },
    unjudgeable() {
      const { state, devices } = telemetry.read().gpus;
      const isUnread = (values: readonly (number | null)[]) =>
        state !== 'starting' && highest(values) === null;
      const unknown: Readonly<Record<OwnerRule, boolean>> = {
        onlyWhenIdle: userIdleMs.last() === null,
        notOnBattery: isOnBattery.last() === null,
        maxGpuTemperatureC: isUnread(devices.map(({ temperatureC }) => temperatureC)),
        yieldToOthers: isUnread(devices.map(({ utilGpu }) => utilGpu)),
      };
      return OWNER_RULES.filter((rule) => unknown[rule]);
    },
    stop: () => stopping.abort(),
  };
}

function highest(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.max(...known);
}

/** Something about this machine that is asked for now and then, never twice at a time. */
interface PolledSignal<T> {
  /** As last answered: null where the machine does not tell, undefined before the first answer. */
  last(): T | null | undefined;
  /** Asks, unless it does already. */
  look(): void;
}

/** Makes it; `heard` hears of each answer until `signal` aborts. */
function createPolledSignal<T>(
  ask: (signal: AbortSignal) => Promise<T | null>,
  signal: AbortSignal,
  heard: () => void,
): PolledSignal<T> {
  let last: T | null | undefined;
  let isAsking = false;

  async function look(): Promise<void> {
    isAsking = true;
    const answer = await ask(signal);
    isAsking = false;
    if (signal.aborted) return;
    last = answer;
    heard();
  }

  return {
    last: () => last,
    look() {
      if (!isAsking && !signal.aborted) void look();
    },
  };
}

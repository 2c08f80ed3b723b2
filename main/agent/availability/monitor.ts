import type { Clock } from '../../platform/clock.ts';
import type { Inference } from '../server/inference.ts';
import type { TelemetryWatch } from '../telemetry/telemetry.ts';
import type { HostActivity } from './host-activity.ts';
import { OWNER_RULES, type OwnerRuleKey, type Sense, SENSES, type Signals } from './rules.ts';
import type { Availability } from './state.ts';

/** Evaluates the owner's rules on the signals of this machine. */
export interface AvailabilityMonitor {
  /** Reads every signal once, to find out which rules can be evaluated here. */
  start(): void;
  /** Evaluates the rules on the last readings, and reads again the signals that active rules need. */
  look(): void;
  /** Rules whose signal this machine does not report, active or not. */
  unjudgeable(): readonly OwnerRuleKey[];
  stop(): void;
}

interface AvailabilityMonitorDeps {
  readonly clock: Clock;
  readonly telemetry: TelemetryWatch;
  readonly hostActivity: HostActivity;
  readonly availability: Availability;
  readonly inference: Pick<Inference, 'inFlight' | 'lastEndedTicks'>;
}

/** A GPU reading is up to this old, so it may still show our own work after that has ended. */
const READING_AGE_MAX_MS = 20_000;

export function createAvailabilityMonitor(deps: AvailabilityMonitorDeps): AvailabilityMonitor {
  const { clock, telemetry, hostActivity, availability, inference } = deps;
  const stopping = new AbortController();
  const signals = new Map(Object.entries(SENSES).map(([name, sense]) => [name, signalOf(sense)]));

  function signalOf(sense: Sense<unknown>): Signal {
    if (sense.kind === 'host') {
      const read = (signal: AbortSignal) => sense.read(hostActivity, signal);
      return createPolledSignal(read, stopping.signal, judge);
    }
    return {
      last() {
        const { state, devices } = telemetry.read().gpus;
        return sense.read(devices) ?? (state === 'starting' ? undefined : null);
      },
      poll() {},
    };
  }

  function judge(): void {
    const ended = inference.lastEndedTicks();
    const isWarm = ended !== null && clock.ticks() - ended < READING_AGE_MAX_MS;
    const known = Object.fromEntries(
      [...signals].map(([name, each]) => [name, each.last() ?? null]),
    );
    availability.look({
      // Each of SENSES has one value, from its own reader.
      ...(known as unknown as Signals),
      isServing: inference.inFlight() > 0 || isWarm,
      ticks: clock.ticks(),
    });
  }

  return {
    start() {
      judge();
      for (const signal of signals.values()) signal.poll();
    },
    look() {
      const rules = availability.rules();
      judge();
      for (const rule of OWNER_RULES) if (rule.isSet(rules)) signals.get(rule.senses)?.poll();
    },
    unjudgeable: () =>
      OWNER_RULES.filter(({ senses }) => signals.get(senses)?.last() === null).map(
        ({ key }) => key,
      ),
    stop: () => stopping.abort(),
  };
}

interface Signal {
  /** The last reading: null if the machine does not report the signal, undefined before the first. */
  last(): unknown;
  /** Starts a reading unless one is in progress; does nothing for signals that are read anyway. */
  poll(): void;
}

/** A signal of the host, with at most one read in flight; `onRead` is called after each read until `signal` aborts. */
function createPolledSignal(
  read: (signal: AbortSignal) => Promise<unknown>,
  signal: AbortSignal,
  onRead: () => void,
): Signal {
  let last: unknown;
  let isReading = false;

  async function poll(): Promise<void> {
    isReading = true;
    const value = await read(signal);
    isReading = false;
    if (signal.aborted) return;
    last = value;
    onRead();
  }

  return {
    last: () => last,
    poll() {
      if (!isReading && !signal.aborted) void poll();
    },
  };
}

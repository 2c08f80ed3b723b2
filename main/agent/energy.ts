import type { AgentEnergy } from '#shared/agent.ts';
import type { AgentRecord } from '#shared/provider.ts';
import type { AgentContext } from './context.ts';
import { summed } from './telemetry/gpu-device.ts';
import type { Telemetry } from './telemetry/telemetry.ts';

type MeasuredEnergy = Omit<AgentEnergy, 'priceKwh' | 'currency'>;

type EnergyMeter = ReturnType<typeof createEnergyMeter>;

/** Two readings that are further apart than this say nothing about the time between them. */
const MAX_GAP_MS = 60_000;
/** After a request, readings may still show its work for so long. */
const COOLING_MS = 20_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** Callers choose model names. Beyond this many, energy and tokens are counted together. */
const MAX_MODELS = 64;
const OTHERS = 'others';

/**
 * Integrates power over the time in which requests run; between two readings it is taken to be the mean of both. While
 * it is unknown nothing is counted, neither energy nor tokens of the requests that ran then.
 */
export function createEnergyMeter() {
  const models = new Map<string, { joules: number; tokens: number }>();
  /** `isMeasured`: power has been known since it began; otherwise it takes its share, which is not counted. */
  const running = new Set<{ readonly model: string; isMeasured: boolean }>();
  /** How long each model ran since the last reading. */
  let shares = new Map<string, number>();
  let last: { readonly ticks: number; readonly watts: number } | null = null;
  let movedTicks = 0;
  let endedTicks = -Infinity;
  let idleMinutes: { readonly minute: number; watts: number }[] = [];
  let idleWatts: number | null = null;
  let isNet = true;

  /** Gives the time since the last change to the models that ran, in equal shares for their requests. */
  function move(ticks: number): void {
    const ms = (ticks - movedTicks) / running.size;
    // Without a reading at its beginning, a request is not measured.
    for (const { model, isMeasured } of running)
      if (isMeasured) shares.set(model, (shares.get(model) ?? 0) + ms);
    movedTicks = ticks;
  }

  function modelAt(key: string): { joules: number; tokens: number } {
    const model = models.get(key) ?? { joules: 0, tokens: 0 };
    models.set(key, model);
    return model;
  }

  function integrate(watts: number): void {
    const netWatts = Math.max(0, watts - (idleWatts ?? 0));
    for (const [name, ms] of shares) {
      if (idleWatts === null) isNet = false;
      modelAt(name).joules += (netWatts * ms) / 1000;
    }
  }

  function seeIdle(ticks: number, watts: number): void {
    const minute = Math.floor(ticks / MINUTE_MS);
    const now = idleMinutes.at(-1);
    if (now?.minute === minute) now.watts = Math.min(now.watts, watts);
    else idleMinutes.push({ minute, watts });
    idleMinutes = idleMinutes.filter((each) => each.minute > minute - HOUR_MS / MINUTE_MS);
    idleWatts = Math.min(...idleMinutes.map((each) => each.watts));
  }

  return {
    /** A request for `model` begins; call the result at its end, with the tokens that it generated. */
    began(named: string, ticks: number): (ticks: number, tokens: number) => void {
      move(ticks);
      const model = models.has(named) || models.size < MAX_MODELS ? named : OTHERS;
      modelAt(model);
      const request = { model, isMeasured: last !== null };
      running.add(request);
      return (endTicks, tokens) => {
        move(endTicks);
        endedTicks = endTicks;
        running.delete(request);
        if (request.isMeasured) modelAt(model).tokens += tokens;
      };
    },
    /** Takes a reading of the power of all GPUs; null: at least one is unknown. */
    sample(ticks: number, watts: number | null) {
      move(ticks);
      const isGap = watts === null || last === null || ticks - last.ticks > MAX_GAP_MS;
      if (isGap) {
        for (const request of running) request.isMeasured = false;
      } else if (last !== null) integrate((last.watts + watts) / 2);
      shares = new Map();
      last = watts === null ? null : { ticks, watts };
      const isIdle = running.size === 0 && ticks - endedTicks >= COOLING_MS;
      if (watts !== null && isIdle) seeIdle(ticks, watts);
    },
    isServing: () => running.size > 0,
    view: (): MeasuredEnergy => ({
      watts: last?.watts ?? null,
      idleWatts,
      isNet,
      models: [...models]
        .filter(([, { joules, tokens }]) => joules > 0 || tokens > 0)
        .map(([model, { joules, tokens }]) => ({ model, joules, tokens })),
    }),
  };
}

/** Callers choose model names, and a heartbeat has 64 KiB for everything. */
const MAX_TOLD_MODELS = 32;
const MAX_CHARS = 256;

/** What heartbeats carry of it; absent if nothing was measured. */
export function energyRecord({ idleWatts, models }: MeasuredEnergy): AgentRecord['energy'] {
  const told = models
    .filter(({ model }) => model.length <= MAX_CHARS)
    .toSorted((a, b) => b.tokens - a.tokens)
    .slice(0, MAX_TOLD_MODELS)
    .map(({ model, joules, tokens }) => ({ model, joules: rounded(joules), tokens }));
  if (told.length === 0) return undefined;
  return { idle_w: idleWatts === null ? null : rounded(idleWatts), models: told };
}

const rounded = (value: number) => Math.round(value * 10) / 10;

/** The pause between two looks while requests run. */
const LOOK_MS = 1000;
/** A reading costs a process or more. */
const TELEMETRY_MS = 5000;

export type PowerWatch = ReturnType<typeof createPowerWatch>;

/** Has the power of the GPUs read often enough while requests run. */
export function createPowerWatch(
  { telemetry, clock }: Pick<AgentContext, 'telemetry' | 'clock'>,
  meter: EnergyMeter,
) {
  let askedTicks = -Infinity;
  let cancelTimer: (() => void) | null = null;

  function take(): void {
    cancelTimer = null;
    const now = clock.ticks();
    if (meter.isServing()) {
      if (now - askedTicks >= TELEMETRY_MS) {
        askedTicks = now;
        telemetry.look();
      }
      cancelTimer = clock.after(LOOK_MS, take);
    }
    meter.sample(now, wattsIn(telemetry.read()));
  }

  function look(): void {
    if (cancelTimer === null) take();
  }

  return {
    /** Takes the last reading. Call it at an interval. */
    look,
    /** A request for `model` begins; call the result at its end, with the tokens that it generated. */
    began(model: string) {
      const ended = meter.began(model, clock.ticks());
      look();
      return (tokens: number) => ended(clock.ticks(), tokens);
    },
    stop() {
      cancelTimer?.();
      cancelTimer = null;
    },
  };
}

/** The power of all GPUs; null if one is faulty or does not say, or readings fail. */
function wattsIn({ gpus }: Pick<Telemetry, 'gpus'>): number | null {
  if (gpus.state !== 'reading') return null;
  return summed(gpus.devices.map(({ fault, powerW }) => (fault === null ? powerW : null)));
}

import type { AgentEnergy } from '#shared/agent.ts';
import type { AgentRecord } from '#shared/provider.ts';

type MeasuredEnergy = Omit<AgentEnergy, 'priceKwh' | 'currency'>;

export type EnergyMeter = ReturnType<typeof createEnergyMeter>;

/** A reading that follows another one after more than this says nothing about the time in between. */
const MAX_GAP_MS = 60_000;
/** After a request, readings may still show its work for so long. */
const COOLING_MS = 20_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** Callers choose model names; beyond these, energy and tokens are counted together. */
const MAX_MODELS = 64;
const OTHERS = 'others';

/**
 * Integrates power over the time in which requests run. Between two readings power is taken to change evenly; where it is
 * unknown nothing is counted, neither energy nor tokens of the requests that ran then.
 */
export function createEnergyMeter() {
  const models = new Map<string, { joules: number; tokens: number }>();
  /** By model, the requests during which power was always known. */
  const running = new Map<string, number>();
  /** The others; they take their share, which is not counted. */
  let unmeasured = 0;
  /** Since the last reading, by model: the time that it ran, and that time's moment about the last reading. */
  let shares = new Map<string, { ms: number; moment: number }>();
  let last: { readonly ticks: number; readonly watts: number } | null = null;
  let movedTicks = 0;
  let endedTicks = -Infinity;
  let idleMinutes: { readonly minute: number; watts: number }[] = [];
  let idleWatts: number | null = null;
  let isNet = true;
  /** Counts the gaps in what is known, so that a request can tell whether it ran over one. */
  let gaps = 0;

  const totalRunning = () => [...running.values()].reduce((sum, count) => sum + count, unmeasured);

  /** Gives the time since the last change to the models that ran, in equal shares for their requests. */
  function move(ticks: number): void {
    const total = totalRunning();
    if (last !== null && total > 0) {
      const [from, to] = [movedTicks - last.ticks, ticks - last.ticks];
      for (const [model, count] of running) {
        const share = shares.get(model) ?? { ms: 0, moment: 0 };
        share.ms += ((to - from) * count) / total;
        share.moment += (((to * to - from * from) / 2) * count) / total;
        shares.set(model, share);
      }
    }
    movedTicks = ticks;
  }

  function modelAt(key: string): { joules: number; tokens: number } {
    const model = models.get(key) ?? { joules: 0, tokens: 0 };
    models.set(key, model);
    return model;
  }

  function integrate(before: { ticks: number; watts: number }, ticks: number, watts: number): void {
    const slope = (watts - before.watts) / (ticks - before.ticks);
    for (const [name, { ms, moment }] of shares) {
      const gross = before.watts * ms + slope * moment;
      if (idleWatts === null) isNet = false;
      modelAt(name).joules += Math.max(0, gross - (idleWatts ?? 0) * ms) / 1000;
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
      const gapsBefore = gaps;
      const isKnown = last !== null;
      if (isKnown) running.set(model, (running.get(model) ?? 0) + 1);
      else unmeasured += 1;
      return (endTicks, tokens) => {
        move(endTicks);
        endedTicks = endTicks;
        if (!isKnown || gaps !== gapsBefore) {
          unmeasured -= 1;
          return;
        }
        const left = (running.get(model) ?? 1) - 1;
        if (left > 0) running.set(model, left);
        else running.delete(model);
        modelAt(model).tokens += tokens;
      };
    },
    /** Takes a reading of the power of all GPUs; null: at least one is unknown. */
    sample(ticks: number, watts: number | null) {
      move(ticks);
      const isGap = watts === null || last === null || ticks - last.ticks > MAX_GAP_MS;
      if (isGap) {
        gaps += 1;
        unmeasured = totalRunning();
        running.clear();
      } else if (last !== null && ticks > last.ticks) integrate(last, ticks, watts);
      shares = new Map();
      last = watts === null ? null : { ticks, watts };
      const isIdle = totalRunning() === 0 && ticks - endedTicks >= COOLING_MS;
      if (watts !== null && isIdle) seeIdle(ticks, watts);
    },
    isServing: () => totalRunning() > 0,
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

/** What heartbeats carry of it; absent where nothing was measured, because then there is nothing to reckon with. */
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

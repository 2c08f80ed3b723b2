import { type Clock, type DualTime, dualTimeOf } from '../../platform/clock.ts';
import type { EngineView } from '../../engines/adapters/engine-view.ts';
import { controlOf } from '../engines/model-control.ts';
import type { ReachableEngine } from '../engines/tell-engine.ts';

export interface ModelPlace {
  readonly engine: ReachableEngine;
  /** As that engine names it. */
  readonly model: string;
}

interface Use {
  readonly generatedTokens: number | null;
  readonly usedTicks: number;
}

type Residency = ReturnType<typeof createResidency>;

/** Since when each engine holds each model, and when it last worked, as far as this agent has seen. */
export function createResidency(clock: Clock) {
  let firstSeen = new Map<string, DualTime>();
  let uses = new Map<string, Use>();

  return {
    see(engines: readonly EngineView[]) {
      const now = dualTimeOf(clock);
      const next = new Map<string, DualTime>();
      const used = new Map<string, Use>();
      for (const engine of engines) {
        for (const model of engine.loaded ?? []) {
          const key = keyOf(engine.baseUrl, model);
          next.set(key, firstSeen.get(key) ?? now);
        }
        used.set(engine.baseUrl, useOf(engine, uses.get(engine.baseUrl), now.ticks));
      }
      [firstSeen, uses] = [next, used];
    },
    since: (engine: string, model: string) => firstSeen.get(keyOf(engine, model)) ?? null,
    /** Of whichever program; null for an engine that was never seen. */
    usedTicks: (engine: string) => uses.get(engine)?.usedTicks ?? null,
  };
}

const keyOf = (engine: string, model: string) => `${engine}\n${model}`;

function useOf({ metrics }: EngineView, before: Use | undefined, ticks: number): Use {
  const generatedTokens = metrics?.generatedTokens ?? null;
  const isAtWork = (metrics?.running ?? 0) > 0 || generatedTokens !== before?.generatedTokens;
  return before === undefined || isAtWork ? { generatedTokens, usedTicks: ticks } : before;
}

interface IdleRule {
  readonly limitMs: number;
  readonly nowTicks: number;
  /** When the last request of a gateway ended; null if there was none. */
  readonly lastEndedTicks: number | null;
}

/**
 * The models that have been idle for `limitMs`, at engines that do not unload them by themselves and that load them
 * when they are asked for again.
 */
export function idleModels(
  engines: readonly ReachableEngine[],
  residency: Pick<Residency, 'since' | 'usedTicks'>,
  { limitMs, nowTicks, lastEndedTicks }: IdleRule,
): readonly ModelPlace[] {
  return engines.flatMap((engine) => {
    const { kind, baseUrl, loaded } = engine.view;
    const control = controlOf(kind);
    if (control === null || control.unloadsIdle || !control.loadsOnRequest) return [];
    const usedTicks = Math.max(
      lastEndedTicks ?? -Infinity,
      residency.usedTicks(baseUrl) ?? nowTicks,
    );
    if (nowTicks - usedTicks < limitMs) return [];
    return (loaded ?? [])
      .filter((model) => {
        const sinceTicks = residency.since(baseUrl, model)?.ticks ?? nowTicks;
        return nowTicks - sinceTicks >= limitMs;
      })
      .map((model) => ({ engine, model }));
  });
}

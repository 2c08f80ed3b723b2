import type { Residency } from './residency.ts';
import { controlOf } from '../engines/model-control.ts';
import type { ReachableEngine } from '../engines/tell-engine.ts';
import type { ModelPlace } from './model-places.ts';

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

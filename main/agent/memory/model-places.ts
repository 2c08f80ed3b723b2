import { holds, type ModelAction, type ReachableEngine } from '../engines/tell-engine.ts';

export interface ModelPlace {
  readonly engine: ReachableEngine;
  /** As that engine names it. */
  readonly model: string;
}

export type ModelPlaces =
  /** None where the model is loaded already, or unloaded. */
  | { readonly kind: 'known'; readonly places: readonly ModelPlace[] }
  | { readonly kind: 'unknown'; readonly offered: readonly string[] };

/** Where a change has something to do: at the first engine that offers the model, or at all that hold it. */
export function placesOf(
  engines: readonly ReachableEngine[],
  action: ModelAction,
  asked: string,
): ModelPlaces {
  const offered = engines.flatMap(({ view }) => [...view.models, ...(view.loaded ?? [])]);
  if (!holds(offered, asked)) return { kind: 'unknown', offered: [...new Set(offered)] };
  const held = engines.flatMap((engine) =>
    (engine.view.loaded ?? [])
      .filter((model) => holds([model], asked))
      .map((model) => ({ engine, model })),
  );
  if (action === 'unload') return { kind: 'known', places: held };
  const engine = engines.find(({ view }) => holds(view.models, asked));
  const isThere = held.length > 0 || engine === undefined;
  return { kind: 'known', places: isThere ? [] : [{ engine, model: asked }] };
}

import type { EngineView } from './view.ts';

/**
 * The engine that is served, of those that were found: one that can answer, rather with a model in
 * memory. Between equals it stays the one that it was.
 */
export function chosen(views: readonly EngineView[], former: string | null): EngineView | null {
  const score = (view: EngineView) => 2 * worth(view) + (view.baseUrl === former ? 1 : 0);
  return views.toSorted((a, b) => score(b) - score(a))[0] ?? null;
}

function worth({ health, models, loaded }: EngineView): number {
  if (health.status === 'loading') return 1;
  if (health.status !== 'ok') return 0;
  if (models.length === 0) return 2;
  return loaded !== null && loaded.length > 0 ? 4 : 3;
}

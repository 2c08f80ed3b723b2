import type { Entry } from './entry.ts';

/** A machine that routing may choose. */
export interface Target {
  readonly id: string;
  /** As in `http://192.168.1.20:3001`. */
  readonly address: string;
  readonly gatewayToken: string;
  readonly models: readonly string[];
  readonly currentModel: string | null;
  /** By which its engine gives itself away; null while unknown. */
  readonly ownedBy: string | null;
}

/** The machine as routing would reach it if it was heard lately; null when it is not to be used. */
export function targetOf({ id, stored, shown, gatewayToken }: Entry): Target | null {
  const { state, address, ownedBy = null } = stored.verification;
  if (state !== 'verified' || address === null || shown === null) return null;
  if (shown.status !== 'serving' && shown.status !== 'idle') return null;
  const { models, current_model: currentModel } = shown;
  return { id, address, gatewayToken, models, currentModel, ownedBy };
}

/** Whether routing would notice a difference. */
export function sameTarget(a: Target | null, b: Target | null): boolean {
  if (a === null || b === null) return a === b;
  return (
    a.address === b.address &&
    a.gatewayToken === b.gatewayToken &&
    a.currentModel === b.currentModel &&
    a.ownedBy === b.ownedBy &&
    a.models.length === b.models.length &&
    a.models.every((model, index) => model === b.models[index])
  );
}

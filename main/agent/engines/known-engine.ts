import type { EngineAddress } from './ask.ts';
import type { Found, Look } from './detect.ts';
import { decodeSpeed } from './metrics.ts';
import { shownLocation } from './models.ts';
import type { DecodeCount, EngineDetail, EngineView } from './view.ts';

/** An engine that was found, with what its next reading is held against. */
export interface KnownEngine {
  readonly address: EngineAddress;
  readonly view: EngineView;
  readonly count: DecodeCount | null;
  /** Rounds in a row in which it was too slow to answer. */
  readonly lateRounds: number;
  /** Clock ticks; null while it answers. */
  readonly goneAt: number | null;
}

/** An engine that its owner has named and that was not heard of yet. */
export function unseen(address: EngineAddress): KnownEngine {
  const view: EngineView = {
    kind: 'other',
    baseUrl: address.origin + address.basePath,
    health: { status: 'unreachable', code: 0 },
    models: [],
    loaded: null,
    currentModel: null,
    engineModel: null,
    metrics: null,
    decodeTps: null,
  };
  return { address, view, count: null, lateRounds: 0, goneAt: null };
}

/** A busy engine may take longer than a second; after so many rounds it counts as unreachable. */
const LATE_ROUNDS = 3;

/** An engine as it was found just now. */
export function found(
  address: EngineAddress,
  { kind, apiPath, detail }: Found,
  { arePathsAllowed, before }: { arePathsAllowed: boolean; before: KnownEngine | null },
): KnownEngine {
  const former = before?.view.kind === kind ? before : null;
  const location =
    detail.location === null ? null : shownLocation(detail.location, arePathsAllowed);
  const view: EngineView = {
    kind,
    baseUrl: address.origin + address.basePath + apiPath,
    health: detail.health,
    models: detail.models,
    loaded: detail.loaded,
    currentModel: detail.loaded?.[0] ?? null,
    engineModel: location ?? former?.view.engineModel ?? null,
    metrics: detail.metrics,
    decodeTps: speedOf(detail, former),
  };
  const count = detail.decode.kind === 'count' ? detail.decode.count : null;
  return { address, view, count, lateRounds: 0, goneAt: null };
}

function speedOf({ decode }: EngineDetail, former: KnownEngine | null): number | null {
  const last = former?.view.decodeTps ?? null;
  if (decode.kind === 'none') return last;
  const tps = decode.kind === 'tps' ? decode.tps : decodeSpeed(former?.count ?? null, decode.count);
  return tps === null ? last : Math.round(tps * 10) / 10;
}

/** An engine that did not answer as one this time; it keeps what was known of it. */
export function missed(
  known: KnownEngine,
  look: Exclude<Look, { kind: 'found' }>,
  now: number,
): KnownEngine {
  const { view } = known;
  if (look.kind === 'stranger') {
    return { ...known, goneAt: known.goneAt ?? now, view: { ...view, health: look.detail.health } };
  }
  const lateRounds = known.lateRounds + 1;
  if (look.isLate && lateRounds < LATE_ROUNDS) return { ...known, lateRounds };
  const health = { status: 'unreachable', code: 0 } as const;
  const still = { ...view, health, loaded: [], currentModel: null, metrics: null };
  return { ...known, lateRounds, goneAt: known.goneAt ?? now, view: still };
}

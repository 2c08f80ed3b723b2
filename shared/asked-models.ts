import type { UpstreamId } from './ids.ts';

/** Where requests for a name went, and how many. */
export interface AskedDestination {
  /** Null where nobody answered. */
  readonly upstream: UpstreamId | null;
  /** The machine of the local pool. */
  readonly provider: string | null;
  readonly machine: string | null;
  /** The model that answered; null if the upstream chose it, or nobody answered. */
  readonly model: string | null;
  readonly calls: number;
}

/** A name that apps asked for. */
export interface AskedModel {
  readonly name: string;
  readonly calls: number;
  /** In milliseconds since the epoch. */
  readonly lastAt: number;
  /** The most frequent first. */
  readonly destinations: readonly AskedDestination[];
  /** The model that an alias gives the name now. */
  readonly aliasOf: string | null;
  /** Whether an upstream has a model of that very name. */
  readonly isListed: boolean;
}

/** Answer of `GET /api/v1/models/asked`. */
export interface AskedModels {
  readonly days: number;
  /** The most frequent first. */
  readonly names: readonly AskedModel[];
  /** What the names may be mapped to: all that upstreams list, without embedders and the like. */
  readonly models: readonly string[];
  /** Why nothing is stored; null while it is. */
  readonly problem: string | null;
}

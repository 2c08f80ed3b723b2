import { z } from 'zod';
import type { UpstreamId } from './ids.ts';

/** What a model is made for; `other` is speech, pictures and the like. */
const MODEL_USES = ['chat', 'embedding', 'rerank', 'other'] as const;
export type ModelUse = (typeof MODEL_USES)[number];

/** Coding agents need that much (docs.ollama.com/context-length). */
export const LARGE_WINDOW = 65_536;

const tokens = z.int().positive().max(1e9);

/** One model of an engine. Null is what the engine does not say. */
export const modelFactsSchema = z.object({
  id: z.string().max(1024),
  use: z.enum(MODEL_USES).nullable(),
  /** Whether it is in memory now. */
  loaded: z.boolean().nullable(),
  /** Whether its engine passes prompts on to a service, as Ollama does for its cloud. */
  remote: z.boolean().optional(),
  /** Whether it takes pictures. */
  vision: z.boolean().nullable(),
  /** Whether it takes tools. */
  tools: z.boolean().nullable(),
  /**
   * The most tokens that a prompt and its answer can have together: as it is loaded, or as the engine is told to load
   * it. Never what it was trained with, which is mostly more.
   */
  context_length: tokens.nullable(),
  /** The most tokens that it could be loaded with; left out where its engine does not say. */
  max_context_length: tokens.optional(),
  /** GPU memory that a token of its context takes, as far as its layers tell. */
  context_token_bytes: z.number().nonnegative().optional(),
  size_bytes: z.int().nonnegative().nullable(),
  /** GPU memory that it takes as it is loaded; only Ollama says so. */
  vram_bytes: z.int().nonnegative().optional(),
});

export type ModelFacts = z.infer<typeof modelFactsSchema>;

/** What a request needs of its model. */
export interface ModelNeeds {
  readonly vision: boolean;
  readonly tools: boolean;
}

/** Where requests for a name went, and how many. */
export interface NameDestination {
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
export interface NameUsage {
  readonly name: string;
  readonly calls: number;
  /** When it was last asked for, in milliseconds since the epoch. */
  readonly lastAt: number;
  /** The most frequent first. */
  readonly destinations: readonly NameDestination[];
  /** The model that an alias gives the name now. */
  readonly aliasOf: string | null;
  /** Whether an upstream has a model of that very name. */
  readonly isListed: boolean;
}

/** Answer of `GET /api/v1/models/asked`. */
export interface NameUsageReport {
  readonly days: number;
  /** The most frequent first. */
  readonly names: readonly NameUsage[];
  /** What the names may be mapped to: all that upstreams list, without embedders and the like. */
  readonly models: readonly string[];
  /** Why nothing is stored; null while it is. */
  readonly problem: string | null;
}

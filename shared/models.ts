import { z } from 'zod';

/** What a model is made for; `other` is speech, pictures and the like. */
export const MODEL_USES = ['chat', 'embedding', 'rerank', 'other'] as const;
export type ModelUse = (typeof MODEL_USES)[number];

const tokens = z.int().positive().max(1e9);

/** One model of an engine. Null is what the engine does not say. */
export const modelFactsSchema = z.object({
  id: z.string().max(1024),
  use: z.enum(MODEL_USES).nullable(),
  /** In memory now. */
  loaded: z.boolean().nullable(),
  /** Whether it takes pictures. */
  vision: z.boolean().nullable(),
  /** Whether it takes tools. */
  tools: z.boolean().nullable(),
  /**
   * The most tokens that a prompt and its answer can have together: as it is loaded, or as the engine is told to load
   * it. Never what it was trained with, which is mostly more.
   */
  context_length: tokens.nullable(),
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

import type { AgentEngine } from '#shared/agent.ts';
import type { EngineKind } from '#shared/engines.ts';
import type { ModelFacts } from '#shared/models.ts';

/** `ok` only with a 2xx. `unresponsive`: connects, but no answer. */
export type EngineHealth = AgentEngine['health'];

/** What an engine has done for whichever program, which only llama.cpp is asked for; null is unknown. */
export interface EngineMetrics {
  readonly running: number | null;
  readonly generatedTokens: number | null;
}

/** One reading of an engine. */
export interface EngineDetail {
  readonly health: EngineHealth;
  /** Ids of the offered models, loaded or not. */
  readonly models: readonly string[];
  /** Ids of the models in memory; null if the engine does not report them. */
  readonly loaded: readonly string[] | null;
  readonly facts: readonly ModelFacts[];
  /** Hub id or path, as the engine reports it; else the current model. */
  readonly location: string | null;
  readonly metrics: EngineMetrics | null;
}

/** The last reading of an engine on this machine. */
export interface EngineView extends AgentEngine, Omit<EngineDetail, 'location'> {
  readonly kind: EngineKind;
  /** Origin of the model: a hub id or a file name; a whole path only if the owner allows that. */
  readonly engineModel: string | null;
}

import type { AgentProblem } from '#shared/agent.ts';
import type { TellResult } from '../engines/tell-engine.ts';

/** What is being done with the memory of this machine's engines. In every state but `kept` it takes no requests. */
export type MemoryState =
  /** The engines hold what they like. */
  | { readonly kind: 'kept' }
  | { readonly kind: 'freeing' | 'freed' }
  | { readonly kind: 'loading' | 'unloading'; readonly model: string };

/** What the owner and the owner's rules want. */
export type MemoryGoal =
  | { readonly kind: 'kept' }
  /** Running requests are ended after `graceMs`; null: they may finish. */
  | { readonly kind: 'freed'; readonly graceMs: number | null };

/** A model that an engine held in memory. */
export interface HeldModel {
  /** The engine's `baseUrl`. */
  readonly engine: string;
  readonly model: string;
}

/** What became of a change that the owner asked for. */
export type ModelChangeResult =
  | TellResult
  | {
      readonly kind: 'refused';
      readonly code: 'freed' | 'requests_running' | 'model_not_found';
      readonly message: string;
    };

/** The state that pieces of work change. */
export interface MemoryHolder {
  readonly state: () => MemoryState;
  readonly become: (next: MemoryState) => void;
  /** What is loaded again before requests return. */
  readonly toLoad: () => readonly HeldModel[];
  /** Resolves once it is on disk. */
  readonly setToLoad: (models: readonly HeldModel[]) => Promise<void>;
  readonly setProblems: (problems: readonly AgentProblem[]) => void;
}

import type { AgentRecord } from './provider.ts';
import type { ModelUse } from '#shared/models.ts';

/** The ports on which gateways look for agents; the second is used with host names and addresses. */
export const AGENT_PORTS: readonly number[] = [3001, 47_901];

/**
 * The mode that the owner wants: `paused` ends running requests, `drained` lets them finish. Rules can pause the
 * machine only while it is `on`.
 */
export type OwnerChoice = (typeof OWNER_CHOICES)[number];
export const OWNER_CHOICES = ['on', 'paused', 'drained'] as const;

/** Key of a rule that pauses a machine which is on: its setting in section `agent`, such as `onlyWhenIdle`. */
export type AgentRule = string;

/** An inference engine on this machine, as last seen. */
export interface AgentEngine {
  /** Such as `ollama`; `other` if its owner has only set an address. */
  readonly kind: string;
  /** `/v1/chat/completions` is appended to it; never holds credentials. */
  readonly baseUrl: string;
  /** `code` is the HTTP status, 0 without an answer. */
  readonly health: {
    readonly status: 'ok' | 'loading' | 'unauthorized' | 'error' | 'unreachable' | 'unresponsive';
    readonly code: number;
  };
  /** Model ids on offer, loaded or not. */
  readonly models: readonly string[];
  /** The loaded model that answers chats; one that cannot where no other is loaded. */
  readonly currentModel: string | null;
}

/** A model of one of this machine's engines; null is unknown. */
export interface AgentModel {
  readonly id: string;
  readonly engine: string;
  readonly baseUrl: string;
  readonly use: ModelUse | null;
  /** Whether the engine passes prompts on to a service. */
  readonly isRemote: boolean;
  /** Whether it is in memory; null if the engine does not say. */
  readonly loaded: boolean | null;
  /** When this agent first saw it loaded, in milliseconds since the epoch. */
  readonly loadedAt: number | null;
  readonly sizeBytes: number | null;
  /** GPU memory that it takes. */
  readonly vramBytes: number | null;
  /** Tokens of prompt and answer together, as loaded. */
  readonly contextLength: number | null;
  /** Whether the engine can be told to load and unload it. */
  readonly canUnload: boolean;
}

/** What is being done with the memory of this machine's engines. */
export interface AgentMemory {
  /** In every state but `kept` the machine takes no requests. */
  readonly state: 'kept' | 'freeing' | 'freed' | 'loading' | 'unloading';
  /** What is loaded again before requests return. */
  readonly toLoad: readonly string[];
  /** Why something stayed in memory, or could not be loaded again, for people. */
  readonly problem: string | null;
}

/** Electricity of this machine's GPUs, since the agent's start. */
export interface AgentEnergy {
  /** The price of a kilowatt-hour; null if its owner has not set one. */
  readonly priceKwh: number | null;
  readonly currency: string;
  /** The power at the moment; null if unknown. */
  readonly watts: number | null;
  /** When nothing is served: the lowest of the last hour. */
  readonly idleWatts: number | null;
  /** Whether `idleWatts` was taken off everywhere; otherwise some of it is gross. */
  readonly isNet: boolean;
  /** `tokens` are those that were generated. */
  readonly models: readonly {
    readonly model: string;
    readonly joules: number;
    readonly tokens: number;
  }[];
}

/** One port of the agent. */
export type AgentListener =
  | { readonly kind: 'listening'; readonly port: number }
  /** `message` says why and what to do. */
  | { readonly kind: 'failed'; readonly port: number; readonly message: string };

/** The registry's view of this machine. */
export interface AgentStanding {
  readonly status: string;
  readonly verification: {
    readonly status: string;
    /** Whether it gets requests, also while it is tested again. */
    readonly routable: boolean;
    readonly failure_reason: string;
  };
}

export interface AgentMembership {
  /** `own`: the registry of this process. */
  readonly kind: 'own' | 'joined' | 'none';
  readonly url: string | null;
  readonly state: 'starting' | 'connected' | 'failing' | 'not_enrolled';
  /** Milliseconds since the epoch. */
  readonly lastAcceptedAt: number | null;
  readonly standing: AgentStanding | null;
  /** The last problem, for people; null once it is solved. */
  readonly problem: { readonly happened: string; readonly remedy: string | null } | null;
  /** Milliseconds by which this machine's clock had to be corrected. */
  readonly clockOffsetMs: number;
}

/** For people: what went wrong and how to fix it. */
export interface AgentProblem {
  /** The tool, file tree or part of the agent that it is about. */
  readonly tool: string;
  /** A command line or a path. */
  readonly tried: string;
  readonly happened: string;
  readonly remedy: string;
}

/** The agent as its owner sees it, in the window and on the command line. Nothing in it is secret. */
export interface AgentView {
  readonly id: string;
  readonly version: string;
  readonly uptimeS: number;
  readonly owner: {
    readonly choice: OwnerChoice;
    /** The owner has freed the memory; `untilMs` is null until told, otherwise milliseconds since the epoch. */
    readonly freed: { readonly untilMs: number | null } | null;
    readonly rules: Readonly<Record<AgentRule, boolean | number | null>>;
    readonly mode: 'on' | 'paused' | 'draining' | 'leaving';
    /** Why it takes no requests, for people; none while it is on. */
    readonly reasons: readonly string[];
    /** Rules that the environment sets, so that nobody can change them while the program runs. */
    readonly heldRules: readonly AgentRule[];
    /** Rules that have no effect here, even if set, because this machine does not report their signal. */
    readonly unjudgeable: readonly AgentRule[];
  };
  readonly server: {
    readonly host: string;
    readonly ports: readonly AgentListener[];
    /** Empty while it listens nowhere. */
    readonly url: string;
  };
  readonly registry: AgentMembership;
  /** The engine in use; null if none was found. */
  readonly engine: AgentEngine | null;
  readonly engines: readonly AgentEngine[];
  /** The models of all engines, loaded ones first. */
  readonly models: readonly AgentModel[];
  readonly memory: AgentMemory;
  readonly energy: AgentEnergy;
  /** The record as the next heartbeat will send it. */
  readonly record: AgentRecord;
  readonly inFlight: number;
  /** An engine on a machine without a GPU, which no registry verifies: it can be used directly instead. */
  readonly useEngineDirectly: string | null;
  readonly problems: readonly AgentProblem[];
}

/** A GPU of this machine as last read; heartbeats leave its power out. */
export type GpuFigures = AgentRecord['gpu']['devices'][number] & {
  readonly power_w: number | null;
};

/** The engines that are told apart; `other` only where its owner has named the URL. */
export type EngineKind =
  | 'vllm'
  | 'llama.cpp'
  | 'ollama'
  | 'lmstudio'
  | 'sglang'
  | 'tgi'
  | 'mlx'
  | 'jan'
  | 'koboldcpp'
  | 'docker'
  | 'other';

/** What an engine says of itself; `ok` only with a 2xx. `code` is the HTTP status, 0 without an answer. */
export interface EngineHealth {
  readonly status: 'ok' | 'loading' | 'unauthorized' | 'error' | 'unreachable';
  readonly code: number;
}

/** What an engine counts, where it has metrics; null is unknown. */
export interface EngineMetrics {
  readonly running: number | null;
  readonly waiting: number | null;
  /** 0 to 1. */
  readonly cacheUse: number | null;
  readonly generatedTokens: number | null;
}

/** Tokens and the seconds that decoding them took, since the engine began to count. */
export interface DecodeCount {
  readonly tokens: number;
  readonly seconds: number;
}

/** An engine on this machine, as last seen. */
export interface EngineView {
  readonly kind: EngineKind;
  /** What `/v1/chat/completions` is appended to; never holds credentials. */
  readonly baseUrl: string;
  readonly health: EngineHealth;
  /** Model ids on offer, loaded or not. */
  readonly models: readonly string[];
  /** Ids of those in memory; null where the engine does not tell. */
  readonly loaded: readonly string[] | null;
  readonly currentModel: string | null;
  /** Where the model comes from: a hub id or the name of a file; a whole path only if its owner allows that. */
  readonly engineModel: string | null;
  readonly metrics: EngineMetrics | null;
  /** Tokens a second of one stream, as the engine measured it. */
  readonly decodeTps: number | null;
}

/** What one round of reading an engine gives. */
export interface EngineDetail {
  readonly health: EngineHealth;
  readonly models: readonly string[];
  readonly loaded: readonly string[] | null;
  /** Hub id or path, as the engine gives it. */
  readonly location: string | null;
  readonly metrics: EngineMetrics | null;
  readonly decode: DecodeReport;
}

/** How an engine tells its speed: by a counter, by a figure of its own, or not at all. */
export type DecodeReport =
  | { readonly kind: 'count'; readonly count: DecodeCount }
  | { readonly kind: 'tps'; readonly tps: number }
  | { readonly kind: 'none' };

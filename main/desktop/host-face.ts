import type { LiveEvent, LiveSnapshot } from '#shared/live.ts';

/** Where the gateway answers once it runs. */
export interface Addresses {
  /** The window's page, such as `http://127.0.0.1:47900`. */
  readonly url: string;
  /** What a client is given, such as `http://localhost:47900/v1`. */
  readonly baseUrl: string;
}

export type WarmupChange = { readonly ok: true } | { readonly ok: false; readonly message: string };

/** What the desktop shell needs of the host, and all it may use of it. */
export interface HostFace {
  /** Rejects with a message for people, such as a port that is taken. */
  start(): Promise<Addresses>;
  /** Lets running requests finish, up to 30 s. */
  stop(): Promise<void>;
  snapshot(): LiveSnapshot;
  subscribe(listener: (event: LiveEvent) => void): () => void;
  setWarmup(enabled: boolean): Promise<WarmupChange>;
  /** The page's address with a new one-time code, which the page exchanges for a control session. */
  controlLink(): string;
}

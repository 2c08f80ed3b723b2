import type { AgentView, OwnerChoice } from '#shared/agent.ts';
import type { UpstreamId } from '#shared/ids.ts';
import type { LiveEvent, LiveSnapshot } from '#shared/live.ts';
import type { ChangeResult } from '#shared/settings.ts';
import type { SecretBox } from './secrets.ts';

export interface Addresses {
  /** Address of the window's page, such as `http://127.0.0.1:47900`. */
  readonly url: string;
  /** The base URL for apps, such as `http://localhost:47900/v1`. */
  readonly baseUrl: string;
}

/** The running program as the desktop shell uses it. */
export interface HostApi {
  /** Rejects with a human-readable message, for example if the port is taken. */
  start(): Promise<Addresses>;
  /** Running requests may finish for `graceMs`, 30 s by default. */
  stop(graceMs?: number): Promise<void>;
  snapshot(): LiveSnapshot;
  subscribe(listener: (event: LiveEvent) => void): () => void;
  setWarmup(enabled: boolean): Promise<ChangeResult>;
  setForceZero(enabled: boolean): Promise<ChangeResult>;
  /** The owner's mode of this machine; null while the agent is switched off. */
  machine(): AgentView['owner']['mode'] | null;
  setMachine(choice: OwnerChoice): Promise<void>;
  /** Unloads its models for so many minutes; null: until it is resumed. */
  freeMachine(forMin: number | null): Promise<void>;
  resetCircuit(id: UpstreamId): void;
  /** Seals saved secrets with this box; null saves them unencrypted. */
  keepSecretsIn(box: SecretBox | null): ChangeResult;
  /** The machine has woken from sleep. */
  resumed(): void;
  /** The window's address with a new single-use code, which the page exchanges for a control session. */
  controlLink(): string;
}

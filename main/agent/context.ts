import type { Config } from '../config/schema.ts';
import type { Clock } from '../platform/clock.ts';
import type { HttpClient } from '../platform/http/types.ts';
import type { Log } from '../platform/log.ts';
import type { HostActivity } from './availability/host-activity.ts';
import type { WindowCut } from './problems.ts';
import type { OwnRegistry } from './registration/link.ts';
import type { FileWarning } from './storage.ts';
import type { TelemetryWatch } from './telemetry/telemetry.ts';

/** What the agent gets from the program that it is part of. */
export interface AgentContext {
  /** Read on each use: settings change while the agent runs. */
  readonly config: () => Config;
  /** Whether an environment variable sets the setting at this path, such as `agent.onlyWhenIdle`. */
  readonly isFixed: (path: string) => boolean;
  /**
   * Makes the agent listen where the gateway at `url` can reach this machine, which looks for it at its first heartbeat.
   * Returns what went wrong, in words, or null.
   */
  readonly listenFor: (url: string) => Promise<string | null>;
  readonly dataDirectory: string;
  /** What was wrong with the files of this program's other parts. */
  readonly warnings: readonly FileWarning[];
  readonly version: string;
  /** The registry of this process; null if there is none. */
  readonly ownRegistry: OwnRegistry | null;
  /** Ports of this program's other parts, which are never tried as an engine's. */
  readonly otherPorts: () => readonly number[];
  /** What the gateway of this process has seen of engines that cut prompts. */
  readonly cuts: () => readonly WindowCut[];
  /** The requests that the gateway of this process sends to an engine of this machine itself. */
  readonly direct: { readonly inFlight: () => number; readonly endAll: () => void };
  readonly telemetry: TelemetryWatch;
  /** The view has changed, in more than times that pass. */
  readonly changed: () => void;
  readonly hostActivity: HostActivity;
  readonly http: HttpClient;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly log: Log;
  /** For tests; the engines' usual ports otherwise. */
  readonly enginePorts?: readonly number[];
}

import type { GpuFigures } from '#shared/agent.ts';
import type { AppInfo, ProvidersSummary } from '#shared/live.ts';
import type { LiveConfig } from '../../config/live-config.ts';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../platform/clock.ts';
import type { HttpClient } from '../../platform/http/types.ts';
import type { Identify } from '../auth/identity.ts';
import type { NamedKeys } from '../auth/named-keys.ts';
import type { Browsers, Sessions } from '../auth/sessions.ts';
import { handleChat } from '../chat/handler.ts';
import type { Memory } from '../memory/memory.ts';
import type { Monitor } from '../monitoring/monitor.ts';
import type { ApiEndpoint } from '../protocols/endpoint.ts';
import { ENDPOINTS } from '../protocols/endpoints.ts';
import type { Checker } from '../routing/checker.ts';
import type { EngineAt } from '../routing/larger-windows.ts';
import type { LocalChoice } from '../upstream/call.ts';
import type { ModelCatalogue } from '../upstream/model-catalogue.ts';
import type { RemoteUpstream } from '../upstream/upstreams.ts';
import type { Lifecycle } from './lifecycle.ts';

/** Endpoints that upstreams serve. They bypass Express, which would cost CPU time on each request. */
export const ENDPOINT_ROUTES = ENDPOINTS.map(endpointRoute);

function endpointRoute(endpoint: ApiEndpoint) {
  return { method: 'POST', endpoint, access: 'callers', handle: handleChat } as const;
}

type MonitorParts =
  | 'budgets'
  | 'circuits'
  | 'counters'
  | 'feed'
  | 'keyLimits'
  | 'requests'
  | 'sightings'
  | 'status'
  | 'usage'
  | 'warmup';

/** What all other routes are made of. */
export interface RouteDeps extends Pick<Monitor, MonitorParts> {
  readonly config: () => Config;
  readonly settings: Pick<LiveConfig, 'view' | 'check' | 'patch' | 'swap'>;
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly memory: Memory;
  readonly pickLocal: () => LocalChoice;
  readonly identifyLocal: (failedAt: number | null) => Promise<void> | null;
  readonly engineAt: EngineAt;
  /** Reads the models of the own engines now. */
  readonly enginesChanged: () => Promise<void>;
  readonly remotes: () => readonly RemoteUpstream[];
  readonly catalogue: ModelCatalogue;
  readonly checker: Pick<Checker, 'changed' | 'look'>;
  readonly summary: () => ProvidersSummary;
  /** The display name of a machine; null if the machine is unknown. */
  readonly nameOf: (id: string) => string | null;
  /** Whether a machine has this id. */
  readonly isKnown: (id: string) => boolean;
  readonly gpus: () => readonly GpuFigures[];
  readonly keys: NamedKeys;
  readonly sessions: Sessions;
  readonly browsers: Browsers;
  readonly identify: Identify;
  /** A link to the window with a code for a session. */
  readonly controlLink: () => string;
  readonly controlToken: string;
  /** It is the demo: its link works any number of times, and signs in every tab of the browser that opened it. */
  readonly isDemo: boolean;
  readonly lifecycle: Lifecycle;
  /** What the window shows of the app; the gateway adds the address. */
  readonly app: () => Omit<AppInfo, 'baseUrl'>;
  readonly about: AboutApp;
  readonly ownPackage: () => Promise<OwnPackage>;
}

export interface AboutApp {
  readonly dataDirectory: string;
  /** The end of the log file, oldest line first; null if the log goes elsewhere. */
  readonly logLines: (count: number) => Promise<readonly string[] | null>;
}

export type OwnPackage =
  | {
      readonly kind: 'packed';
      readonly name: string;
      readonly version: string;
      readonly tarball: Buffer;
      readonly sha256: string;
    }
  /** `why` is a sentence. */
  | { readonly kind: 'unavailable'; readonly why: string };

import type { GpuFigures } from '#shared/agent.ts';
import type { AppInfo, ProvidersSummary } from '#shared/live.ts';
import type { Config } from '../config/schema.ts';
import type { Clock } from '../platform/clock.ts';
import type { Route } from '../platform/http/routes.ts';
import type { HttpClient } from '../platform/http/types.ts';
import type { Log } from '../platform/log.ts';
import type { StateFile } from '../platform/state-file.ts';
import type { AboutApp, SettingsApi } from './api/control-handlers.ts';
import type { OwnPackage } from './api/install-handlers.ts';
import type { OnPortTaken } from './api/lifecycle.ts';
import type { NamedKeys } from './auth/named-keys.ts';
import type { ReportProviderResult } from './monitoring/request-log.ts';
import type { ProvidersKnown } from './monitoring/status.ts';
import type { Tracing } from './monitoring/tracing.ts';
import type { OtherGateways } from './other-gateways.ts';
import type { LocalChoice } from './upstream/call.ts';
import type { UsageStore } from './usage/store.ts';

export interface GatewayDeps {
  readonly config: () => Config;
  readonly settings: SettingsApi;
  readonly keys: NamedKeys;
  readonly tracing: Tracing;
  readonly http: HttpClient;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly log: Log;
  readonly pickLocal: () => LocalChoice;
  /** Ends once the fixed engine is known; null if it has been since its last failure, or there is none. */
  readonly identifyLocal: (failedAt: number | null) => Promise<void> | null;
  readonly providers: GatewayProviders;
  readonly others: OtherGateways;
  /** This machine's GPUs as last read. */
  readonly gpus: () => readonly GpuFigures[];
  /** Opens the file that stores what `save` returns. */
  readonly keep: (save: () => unknown) => StateFile;
  /** The same for the remembered browsers. */
  readonly keepBrowsers: (save: () => unknown) => StateFile;
  readonly usage: UsageStore;
  readonly about: AboutApp;
  readonly controlToken: string;
  /** The package that other machines install. */
  readonly ownPackage: () => Promise<OwnPackage>;
  readonly windowDirectory: string;
  /** What the window shows of the app; the gateway adds the address. */
  readonly app: () => Omit<AppInfo, 'baseUrl'>;
  readonly onPortTaken: OnPortTaken;
  /** Of the agent, the registry and the demo. */
  readonly moreRoutes: readonly Route[];
}

export interface GatewayProviders {
  /** For the status report. */
  readonly known: () => ProvidersKnown;
  /** For the window. */
  readonly summary: () => ProvidersSummary;
  readonly isKnown: (id: string) => boolean;
  /** The display name of a machine; null if the machine is unknown. */
  readonly nameOf: (id: string) => string | null;
  /** Called with the results of calls to providers. */
  readonly routed: ReportProviderResult;
}

import {
  HOSTED_IDS,
  type HostedId,
  isHostedId,
  isUpstreamId,
  UPSTREAM_IDS,
  type UpstreamId,
} from '#shared/ids.ts';
import type { KeyLimitUse, KeyList } from '#shared/keys.ts';
import { isObject, memberOf } from '../../platform/json.ts';
import type { Sharing, SharingChange } from '#shared/sharing.ts';
import type { LiveConfig, PatchResult } from '../../config/live-config.ts';
import type { Config } from '../../config/schema.ts';
import { controlProof, isNonce } from '../../platform/secrets.ts';
import { isoTime } from '../../platform/clock.ts';
import {
  type Answer,
  answered,
  type Refusal,
  route,
  type Route,
  textAt,
} from '../../platform/http/routes.ts';
import { outsideAddresses, outsideHost, urlHost } from '../../platform/http/addresses.ts';
import { processFacts } from '../../platform/process.ts';
import type { Browsers } from '../auth/sessions.ts';
import type { Monitor } from '../monitoring/monitor.ts';
import type { NamedKeys } from '../auth/keys.ts';
import { type GatewayError, invalidParam, notFound, refused } from '../http/errors.ts';
import type { Checker } from '../routing/checker.ts';
import type { RemoteUpstream } from '../upstream/upstreams.ts';
import type { Lifecycle } from './server.ts';

export type SettingsApi = Pick<LiveConfig, 'view' | 'check' | 'patch' | 'swap'>;

interface ControlDeps {
  readonly monitor: Pick<Monitor, 'circuits' | 'sightings' | 'usage' | 'warmup'>;
  readonly settings: SettingsApi;
  readonly config: () => Config;
  readonly remotes: () => readonly RemoteUpstream[];
  readonly checker: Pick<Checker, 'changed'>;
  readonly isProvider: (id: string) => boolean;
}

/** Why the owner may not start what costs money there; null if it may be started. */
export function refusalToSpend({ id }: RemoteUpstream, config: Config): GatewayError | null {
  const { routing, [id]: paid } = config;
  if (!routing.forceZero && paid.budgetDay !== 0 && paid.budgetMonth !== 0) return null;
  const message = routing.forceZero
    ? '“Never spend money” is on, and this may cost money; switch it off first (routing.forceZero).'
    : 'Its budget is 0, and this may cost money; raise the budget first.';
  return { status: 409, code: 'zero_spend', message };
}

const NO_RENTED_GPU: GatewayError = {
  status: 409,
  code: 'not_configured',
  message: 'There is no rented GPU. Set ondemand.baseUrl (INGLENOOK_ONDEMAND_BASE_URL) first.',
};

export function controlRoutes(deps: ControlDeps): readonly Route[] {
  const { monitor, settings, config, remotes, checker } = deps;
  const { circuits, sightings, usage, warmup } = monitor;
  const retry = (id: UpstreamId) => {
    const isFailing = sightings()[id].kind === 'failed';
    circuits.reset(id);
    if (isFailing) checker.changed(id);
  };
  const patchedAnswer = (patched: PatchResult) =>
    patched.kind === 'patched' ? answered(settings.view()) : unpatched(patched);
  return [
    route('GET', '/api/v1/settings', 'control', () => answered(settings.view())),
    route('PATCH', '/api/v1/settings', 'control', ({ json }) => {
      const patched = settings.patch(json);
      if (patched.kind === 'patched') savedUpstreams(json).forEach(retry);
      return patchedAnswer(patched);
    }),
    route('POST', '/api/v1/upstreams/:id/swap', 'control', ({ params: { id = '' }, json }) => {
      const other = memberOf(json, 'with');
      if (!isHostedId(id)) return notHosted(id);
      if (!isHostedId(other) || other === id) return wrongPartner(id);
      const swapped = settings.swap(id, other);
      if (swapped.kind === 'patched') usage.swap(id, other);
      return patchedAnswer(swapped);
    }),
    route('POST', '/api/v1/warmup', 'control', () => {
      const upstream = remotes().find(({ id }) => id === 'ondemand');
      if (upstream === undefined) return refused(NO_RENTED_GPU);
      const unpaid = refusalToSpend(upstream, config());
      if (unpaid !== null) return refused(unpaid);
      warmup.start(upstream);
      return answered({ state: warmup.view().state }, 202);
    }),
    route('POST', '/api/v1/circuits/:id/reset', 'control', ({ params: { id = '' } }) => {
      if (isUpstreamId(id)) retry(id);
      else if (deps.isProvider(id)) circuits.reset(id);
      else return noCircuit(id);
      return answered({ id });
    }),
  ];
}

/** An owner who saves an upstream expects it to be tried, even if the fault was not in its settings. */
function savedUpstreams(tree: unknown): readonly UpstreamId[] {
  return UPSTREAM_IDS.filter((id) => isObject(tree) && id in tree);
}

const notHosted = (id: string) =>
  notFound(`"${id.slice(0, 100)}" is no hosted upstream; use one of ${HOSTED_IDS.join(', ')}.`);

function wrongPartner(id: HostedId): Refusal {
  const others = HOSTED_IDS.filter((each) => each !== id);
  return invalidParam('with', `must be another hosted upstream: ${others.join(' or ')}`);
}

const noCircuit = (id: string) =>
  notFound(
    `There is no circuit "${id.slice(0, 100)}"; use one of ${UPSTREAM_IDS.join(', ')}, or the id of a machine.`,
  );

/** Why a change of the settings was not made, as the answer of a route. */
export function unpatched(patch: Exclude<PatchResult, { readonly kind: 'patched' }>): Refusal {
  const { message } = patch;
  if (patch.kind === 'unwritten')
    return refused({ status: 500, code: 'settings_unwritten', message });
  const { code, param } = patch;
  return refused({ status: code === 'set_by_environment' ? 409 : 400, code, message, param });
}

export interface AboutApp {
  readonly dataDirectory: string;
  /** The end of the log file, oldest line first; null if the log goes elsewhere. */
  readonly logLines: (count: number) => Promise<readonly string[] | null>;
}

interface AccessDeps {
  readonly browsers: Browsers;
  readonly about: AboutApp;
  readonly controlToken: string;
  readonly app: () => { readonly version: string };
}

const DEFAULT_LINES = 200;
const MAX_LINES = 2_000;

export function accessRoutes({ browsers, about, controlToken, app }: AccessDeps): readonly Route[] {
  return [
    route('GET', '/api/v1/proof', 'anyone', ({ query: { nonce }, socket }) => {
      if (!isNonce(nonce)) return invalidParam('nonce', 'must be 64 lower-case hex digits');
      const end = { address: socket.localAddress, port: socket.localPort };
      return answered({ proof: controlProof(controlToken, nonce, end) });
    }),
    route('GET', '/api/v1/browsers', 'control', () => answered({ data: browsers.list() })),
    route('POST', '/api/v1/browsers', 'control', async ({ json }) => {
      const name = textAt(json, 'name')?.trim() ?? '';
      if (name !== '') return answered(await browsers.remember(name), 201);
      return invalidParam('name', "must be a non-empty string, such as the browser's name");
    }),
    route('DELETE', '/api/v1/browsers/:id', 'control', async ({ params: { id = '' } }) => {
      if (await browsers.forget(id)) return answered({ id });
      return notFound(`There is no remembered browser "${id.slice(0, 100)}".`);
    }),
    route('GET', '/api/v1/about', 'control', () =>
      answered({ version: app().version, dataDirectory: about.dataDirectory, ...processFacts() }),
    ),
    route('GET', '/api/v1/logs', 'control', async ({ query }) => {
      const lines = Number(query['lines'] ?? DEFAULT_LINES);
      if (!Number.isInteger(lines) || lines < 1)
        return invalidParam('lines', 'must be a whole number of at least 1');
      return answered({ lines: await about.logLines(Math.min(lines, MAX_LINES)) });
    }),
  ];
}

interface KeyDeps extends Pick<Monitor, 'feed' | 'keyLimits'> {
  readonly keys: NamedKeys;
  readonly config: () => Config;
}

export function keyRoutes({ keys, keyLimits, config, feed }: KeyDeps): readonly Route[] {
  const limitsOf = (key: string): readonly KeyLimitUse[] =>
    keyLimits.of(key).map(({ name, limit, used, until }) => {
      return { name, limit, used, resetsAt: isoTime(until) };
    });
  return [
    route('GET', '/api/v1/keys', 'control', () =>
      answered<KeyList>({
        keys: keys.list().map(({ name, createdAt, lastUsedAt }) => ({
          name,
          createdAt: isoTime(createdAt),
          lastUsedAt: lastUsedAt === null ? null : isoTime(lastUsedAt),
          limits: limitsOf(name),
        })),
        unnamed: config().gateway.apiKeys.length,
      }),
    ),
    route('POST', '/api/v1/keys', 'control', ({ json }) => {
      const added = keys.add(memberOf(json, 'name'), memberOf(json, 'limits'));
      // With each event, the keys of its readers are checked.
      feed.changed();
      return added.kind === 'refused' ? added : answered({ name: added.name, key: added.key }, 201);
    }),
    route('PATCH', '/api/v1/keys/:name', 'control', ({ params: { name = '' }, json }) => {
      const refusal = keys.limit(name, memberOf(json, 'limits'));
      return refusal ?? answered({ name, limits: limitsOf(name) });
    }),
    route('DELETE', '/api/v1/keys/:name', 'control', ({ params: { name = '' } }) => {
      const refusal = keys.revoke(name);
      feed.changed();
      return refusal ?? answered({ name });
    }),
  ];
}

interface SharingDeps {
  readonly config: () => Config;
  readonly settings: Pick<SettingsApi, 'check' | 'patch'>;
  readonly lifecycle: Lifecycle;
}

/** Changes the addresses that the gateway listens on, while it is running. */
export function sharingRoutes(deps: SharingDeps): readonly Route[] {
  const { config, lifecycle } = deps;
  return [
    route('GET', '/api/v1/sharing', 'control', () =>
      answered<Sharing>({
        host: config().gateway.host,
        url: lifecycle.outsideUrl(),
        isShared: lifecycle.isShared(),
        addresses: outsideAddresses(),
      }),
    ),
    route('PUT', '/api/v1/sharing', 'control', ({ json }) => {
      const host = textAt(json, 'host')?.trim() ?? '';
      if (host !== '') return share(host, deps);
      return invalidParam('host', 'must be an address of this machine, such as 192.168.1.20');
    }),
  ];
}

/** Listens first, then saves: an address that cannot be bound would make the next start fail. */
async function share(
  host: string,
  { settings, lifecycle }: Pick<SharingDeps, 'settings' | 'lifecycle'>,
): Promise<Answer<SharingChange>> {
  const tree = { gateway: { host } };
  const problem = settings.check(tree);
  if (problem !== null) return unpatched(problem);
  const move = await lifecycle.move(host, () => settings.patch(tree));
  if (move.kind === 'failed') {
    const { message } = move;
    return refused({ status: 409, code: 'cannot_listen', message, param: 'host' });
  }
  if (move.saved.kind !== 'patched') return unpatched(move.saved);
  const { port } = new URL(lifecycle.url());
  const url = `http://${urlHost(outsideHost(host))}:${port}`;
  return answered({ applied: move.kind, url });
}

import { platform } from 'node:os';
import type { Request, Response } from 'express';
import {
  HOSTED_IDS,
  type HostedId,
  isHostedId,
  isUpstreamId,
  UPSTREAM_IDS,
  type UpstreamId,
} from '#shared/ids.ts';
import type { KeyLimitUse, KeyList } from '#shared/keys.ts';
import { isObject } from '../../platform/json.ts';
import type { SettingsView } from '#shared/settings.ts';
import type { Sharing, SharingChanged } from '#shared/sharing.ts';
import type { WarmupState } from '#shared/status.ts';
import type { LiveConfig, Patched } from '../../config/live-config.ts';
import type { Config } from '../../config/schema.ts';
import { controlProof, isNonce, ownEnd } from '../../platform/secrets.ts';
import { isoTime } from '../../platform/dates.ts';
import { sendJson } from '../../platform/http/responses.ts';
import { outsideAddresses, urlHost } from '../../platform/http/server.ts';
import { processFacts } from '../../platform/process.ts';
import type { Browsers } from '../auth/sessions.ts';
import type { NamedKeys } from '../auth/named-keys.ts';
import type { Circuits } from '../circuits/circuits.ts';
import { type GatewayError, invalidParam } from '../http/errors.ts';
import { sendError } from '../http/responses.ts';
import type { SightingsMonitor } from '../monitoring/sightings.ts';
import { type Preference, preferredReport } from '../routing/preference.ts';
import type { WarmupRunner } from '../routing/warmup.ts';
import type { RemoteUpstream } from '../upstream/upstreams.ts';
import type { KeyLimits } from '../usage/budgets.ts';
import { type Lifecycle, outsideHost } from './lifecycle.ts';

export interface SettingsApi {
  readonly view: () => SettingsView;
  readonly check: LiveConfig['check'];
  readonly patch: (tree: unknown) => Patched;
  readonly swap: LiveConfig['swap'];
}

interface ControlDeps {
  readonly settings: SettingsApi;
  readonly config: () => Config;
  readonly remotes: () => readonly RemoteUpstream[];
  readonly warmup: WarmupRunner;
  readonly preference: Preference;
  readonly circuits: Circuits;
  readonly sightings: Pick<SightingsMonitor, 'view' | 'changed'>;
  readonly isProvider: (id: string) => boolean;
}

const NO_MONEY = {
  status: 409,
  code: 'zero_spend',
  message: 'Local only is on, and this would cost money; switch it off first (routing.forceZero).',
} as const satisfies GatewayError;

const NO_WARMUP = {
  not_configured: {
    status: 409,
    code: 'not_configured',
    message: 'There is no on-demand GPU; set SWITCHYARD_ONDEMAND_BASE_URL first.',
  },
  zero_spend: NO_MONEY,
} as const satisfies Record<string, GatewayError>;

export function controlHandlers(deps: ControlDeps) {
  const { settings, circuits, sightings, isProvider, preference } = deps;
  const retry = (id: UpstreamId) => {
    const isFailing = sightings.view()[id].kind === 'failed';
    circuits.reset(id);
    if (isFailing) sightings.changed(id);
  };
  return {
    settings: (_req: Request, res: Response) => sendJson(res, 200, settings.view()),
    changeSettings: (req: Request, res: Response) => {
      const patched = settings.patch(req.body);
      if (patched.kind === 'patched') savedUpstreams(req.body).forEach(retry);
      sendPatched(res, patched, settings.view);
    },
    swapUpstreams: (req: Request, res: Response) => {
      const id = String(req.params['id']);
      const { with: other } = (req.body ?? {}) as { readonly with?: unknown };
      if (!isHostedId(id)) sendError(res, notHosted(id));
      else if (!isHostedId(other) || other === id) sendError(res, wrongPartner(id));
      else sendPatched(res, settings.swap(id, other), settings.view);
    },
    warmUp: (_req: Request, res: Response) => {
      const state = startWarmup(deps);
      if (state === 'not_configured' || state === 'zero_spend') sendError(res, NO_WARMUP[state]);
      else sendJson(res, 202, { state });
    },
    prefer: (req: Request, res: Response) => {
      const { id } = (req.body ?? {}) as { readonly id?: unknown };
      const problem = id === null ? null : notPreferable(id, deps);
      if (problem !== null) {
        sendError(res, problem);
        return;
      }
      if (isHostedId(id)) preference.begin(id);
      else preference.end();
      const preferred = preference.view();
      sendJson(res, 200, { preferred: preferred === null ? null : preferredReport(preferred) });
    },
    resetCircuit: (req: Request, res: Response) => {
      const id = String(req.params['id']);
      if (!isUpstreamId(id) && !isProvider(id)) {
        sendError(res, noCircuit(id));
        return;
      }
      if (isUpstreamId(id)) retry(id);
      else circuits.reset(id);
      sendJson(res, 200, { id });
    },
  };
}

/** An owner who saves an upstream expects it to be tried, even if the fault was not in its settings. */
function savedUpstreams(tree: unknown): readonly UpstreamId[] {
  return UPSTREAM_IDS.filter((id) => isObject(tree) && id in tree);
}

function notHosted(id: string): GatewayError {
  const message = `"${id.slice(0, 100)}" is no hosted upstream; use one of ${HOSTED_IDS.join(', ')}.`;
  return { status: 404, code: 'not_found', message };
}

function wrongPartner(id: HostedId): GatewayError {
  const others = HOSTED_IDS.filter((each) => each !== id);
  return invalidParam('with', `must be another hosted upstream: ${others.join(' or ')}`);
}

/** The resulting state, or why no warm-up may start. */
function startWarmup({
  config,
  remotes,
  warmup,
}: ControlDeps): WarmupState | keyof typeof NO_WARMUP {
  const upstream = remotes().find(({ id }) => id === 'ondemand');
  if (upstream === undefined) return 'not_configured';
  if (config().routing.forceZero) return 'zero_spend';
  warmup.start(upstream);
  return warmup.view().state;
}

function notPreferable(id: unknown, { config, remotes }: ControlDeps): GatewayError | null {
  if (!isHostedId(id))
    return invalidParam('id', `must be one of ${HOSTED_IDS.join(', ')}, or null`);
  if (!remotes().some((remote) => remote.id === id)) {
    const message = `'${id}.baseUrl' is not set.`;
    return { status: 409, code: 'not_configured', message };
  }
  return config().routing.forceZero ? NO_MONEY : null;
}

function noCircuit(id: string): GatewayError {
  const message = `There is no circuit "${id.slice(0, 100)}"; use one of ${UPSTREAM_IDS.join(', ')}, or the id of a machine.`;
  return { status: 404, code: 'not_found', message };
}

function sendPatched(res: Response, patched: Patched, view: () => SettingsView): void {
  if (patched.kind === 'patched') sendJson(res, 200, view());
  else sendError(res, unpatchedError(patched));
}

function unpatchedError(unpatched: Exclude<Patched, { readonly kind: 'patched' }>): GatewayError {
  const { message } = unpatched;
  if (unpatched.kind === 'unwritten') return { status: 500, code: 'settings_unwritten', message };
  const { code, param } = unpatched;
  return { status: code === 'set_by_environment' ? 409 : 400, code, message, param };
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

export function accessHandlers({ browsers, about, controlToken, app }: AccessDeps) {
  return {
    prove: (req: Request, res: Response) => {
      const { nonce } = req.query;
      if (isNonce(nonce)) {
        sendJson(res, 200, { proof: controlProof(controlToken, nonce, ownEnd(req.socket)) });
        return;
      }
      sendError(res, invalidParam('nonce', 'must be 64 lower-case hex digits'));
    },
    browsers: (_req: Request, res: Response) => sendJson(res, 200, { data: browsers.list() }),
    remember: async (req: Request, res: Response) => {
      const { name } = (req.body ?? {}) as { readonly name?: unknown };
      if (typeof name !== 'string' || name.trim() === '') {
        sendError(
          res,
          invalidParam('name', "must be a non-empty string, such as the browser's name"),
        );
        return;
      }
      sendJson(res, 201, await browsers.remember(name.trim()));
    },
    forget: async (req: Request, res: Response) => {
      const id = String(req.params['id']);
      if (await browsers.forget(id)) {
        sendJson(res, 200, { id });
        return;
      }
      const message = `There is no remembered browser "${id.slice(0, 100)}".`;
      sendError(res, { status: 404, code: 'not_found', message });
    },
    about: (_req: Request, res: Response) =>
      sendJson(res, 200, {
        version: app().version,
        dataDirectory: about.dataDirectory,
        ...processFacts(),
      }),
    logs: async (req: Request, res: Response) => {
      const lines = Number(req.query['lines'] ?? DEFAULT_LINES);
      const count = Number.isInteger(lines) && lines > 0 ? Math.min(lines, MAX_LINES) : null;
      if (count === null) {
        sendError(res, invalidParam('lines', 'must be a whole number of at least 1'));
        return;
      }
      sendJson(res, 200, { lines: await about.logLines(count) });
    },
  };
}

interface KeyDeps {
  readonly keys: NamedKeys;
  readonly keyLimits: Pick<KeyLimits, 'of'>;
  readonly config: () => Config;
}

export function keyHandlers({ keys, keyLimits, config }: KeyDeps) {
  const limitsOf = (key: string): readonly KeyLimitUse[] =>
    keyLimits.of(key).map(({ name, limit, used, until }) => {
      return { name, limit, used, resetsAt: isoTime(until) };
    });
  return {
    list: (_req: Request, res: Response) => {
      const list: KeyList = {
        keys: keys.list().map(({ name, createdAt, lastUsedAt }) => ({
          name,
          createdAt: isoTime(createdAt),
          lastUsedAt: lastUsedAt === null ? null : isoTime(lastUsedAt),
          limits: limitsOf(name),
        })),
        unnamed: config().gateway.apiKeys.length,
      };
      sendJson(res, 200, list);
    },
    add: (req: Request, res: Response) => {
      const body = req.body as { readonly name?: unknown; readonly limits?: unknown } | undefined;
      const added = keys.add(body?.name, body?.limits);
      if (added.kind === 'refused') sendError(res, added.error);
      else sendJson(res, 201, { name: added.name, key: added.key });
    },
    limit: (req: Request, res: Response) => {
      const name = String(req.params['name']);
      const body = req.body as { readonly limits?: unknown } | undefined;
      const limited = keys.limit(name, body?.limits);
      if (limited.kind === 'refused') sendError(res, limited.error);
      else sendJson(res, 200, { name, limits: limitsOf(name) });
    },
    revoke: (req: Request, res: Response) => {
      const name = String(req.params['name']);
      const revoked = keys.revoke(name);
      if (revoked.kind === 'refused') sendError(res, revoked.error);
      else sendJson(res, 200, { name });
    },
  };
}

interface SharingDeps {
  readonly config: () => Config;
  readonly settings: Pick<SettingsApi, 'check' | 'patch'>;
  readonly lifecycle: Lifecycle;
}

/** Changes the addresses that the gateway listens on, while it is running. */
export function sharingHandlers(deps: SharingDeps) {
  const { config, lifecycle } = deps;
  return {
    view: (_req: Request, res: Response) => {
      const sharing: Sharing = {
        host: config().gateway.host,
        url: lifecycle.outsideUrl(),
        isShared: lifecycle.isShared(),
        addresses: outsideAddresses(),
        platform: platform(),
      };
      sendJson(res, 200, sharing);
    },
    change: async (req: Request, res: Response) => {
      const body: unknown = req.body;
      const host = isObject(body) ? body['host'] : undefined;
      if (typeof host !== 'string' || host.trim() === '') {
        sendError(
          res,
          invalidParam('host', 'must be an address of this machine, such as 192.168.1.20'),
        );
        return;
      }
      const changed = await change(host.trim(), deps);
      if (changed.kind === 'refused') sendError(res, changed.error);
      else sendJson(res, 200, changed.value);
    },
  };
}

type Changed =
  | { readonly kind: 'changed'; readonly value: SharingChanged }
  | { readonly kind: 'refused'; readonly error: GatewayError };

/** Listens first, then saves: an address that cannot be bound would make the next start fail. */
async function change(
  host: string,
  { settings, lifecycle }: Pick<SharingDeps, 'settings' | 'lifecycle'>,
): Promise<Changed> {
  const tree = { gateway: { host } };
  const problem = settings.check(tree);
  if (problem !== null) return { kind: 'refused', error: unpatchedError(problem) };
  const move = await lifecycle.prepareMove(host);
  if (move.kind === 'failed') {
    const { message } = move;
    return {
      kind: 'refused',
      error: { status: 409, code: 'cannot_listen', message, param: 'host' },
    };
  }
  const patched = settings.patch(tree);
  if (patched.kind !== 'patched') {
    if (move.kind === 'ready') move.rollBack();
    return { kind: 'refused', error: unpatchedError(patched) };
  }
  if (move.kind === 'ready') move.commit();
  const { port } = new URL(lifecycle.url());
  const url = `http://${urlHost(outsideHost(host))}:${port}`;
  return { kind: 'changed', value: { applied: move.kind === 'ready' ? 'now' : move.kind, url } };
}

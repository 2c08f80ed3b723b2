import type { Request, Response } from 'express';
import { isUpstreamId, UPSTREAM_IDS } from '#shared/ids.ts';
import type { SettingsView } from '#shared/settings.ts';
import type { WarmupState } from '#shared/status.ts';
import type { LiveConfig, Patched } from '../../config/live-config.ts';
import type { Config } from '../../config/schema.ts';
import type { Circuits } from '../circuits/circuits.ts';
import type { GatewayError } from '../http/errors.ts';
import { sendJson } from '../../platform/http/responses.ts';
import { sendError } from '../http/responses.ts';
import type { WarmupRunner } from '../routing/warmup.ts';
import type { RemoteUpstream } from '../upstream/upstreams.ts';

/** The live settings, as their routes use them. */
export interface SettingsApi {
  readonly view: () => SettingsView;
  readonly check: LiveConfig['check'];
  readonly patch: (tree: unknown) => Patched;
}

interface ControlDeps {
  readonly settings: SettingsApi;
  readonly config: () => Config;
  readonly remotes: () => readonly RemoteUpstream[];
  readonly warmup: WarmupRunner;
  readonly circuits: Circuits;
  readonly isProvider: (id: string) => boolean;
}

const NO_WARMUP = {
  not_configured: {
    status: 409,
    code: 'not_configured',
    message: 'There is no on-demand upstream; set SWITCHYARD_ONDEMAND_BASE_URL first.',
  },
  zero_spend: {
    status: 409,
    code: 'zero_spend',
    message: 'The gateway is set to spend no money; switch routing.forceZero off first.',
  },
} as const satisfies Record<string, GatewayError>;

export function controlHandlers(deps: ControlDeps) {
  const { settings, circuits, isProvider } = deps;
  return {
    settings: (_req: Request, res: Response) => sendJson(res, 200, settings.view()),
    changeSettings: (req: Request, res: Response) => {
      sendPatched(res, settings.patch(req.body), settings.view);
    },
    warmUp: (_req: Request, res: Response) => {
      const state = startWarmup(deps);
      if (state === 'not_configured' || state === 'zero_spend') sendError(res, NO_WARMUP[state]);
      else sendJson(res, 202, { state });
    },
    resetCircuit: (req: Request, res: Response) => {
      const id = String(req.params['id']);
      if (!isUpstreamId(id) && !isProvider(id)) {
        sendError(res, noCircuit(id));
        return;
      }
      circuits.reset(id);
      sendJson(res, 200, { id });
    },
  };
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

function noCircuit(id: string): GatewayError {
  const message = `There is no circuit "${id.slice(0, 100)}"; use one of ${UPSTREAM_IDS.join(', ')}, or the id of a provider.`;
  return { status: 404, code: 'not_found', message };
}

function sendPatched(res: Response, patched: Patched, view: () => SettingsView): void {
  if (patched.kind === 'patched') sendJson(res, 200, view());
  else sendError(res, unpatchedError(patched));
}

/** Why a change of the settings was rejected. */
export function unpatchedError(
  unpatched: Exclude<Patched, { readonly kind: 'patched' }>,
): GatewayError {
  const { message } = unpatched;
  if (unpatched.kind === 'unwritten') return { status: 500, code: 'settings_unwritten', message };
  const { code, param } = unpatched;
  return { status: code === 'set_by_environment' ? 409 : 400, code, message, param };
}

import type { Response } from 'express';
import { isUpstreamId, UPSTREAM_IDS } from '#shared/ids.ts';
import type { SettingsView } from '#shared/settings.ts';
import type { WarmupState } from '#shared/status.ts';
import type { Patched } from '../../config/live-config.ts';
import type { Config } from '../../config/schema.ts';
import type { Circuits } from '../circuits/circuits.ts';
import type { GatewayError } from '../http/errors.ts';
import { sendError, sendJson } from '../http/responses.ts';
import type { WarmupRunner } from '../routing/warmup.ts';
import type { RemoteUpstream } from '../upstream/upstreams.ts';
import type { Route } from './routes.ts';

/** What a control session may change. */
export interface ControlRoutesDeps {
  readonly settings: {
    readonly view: () => SettingsView;
    readonly patch: (tree: unknown) => Patched;
  };
  /** Starts a warm-up now, or says why it may not. */
  readonly startWarmup: () => WarmupState | 'not_configured' | 'zero_spend';
  /** False when there is no such upstream or provider. */
  readonly resetCircuit: (id: string) => boolean;
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
    message: 'The gateway may not spend money now; switch routing.forceZero off first.',
  },
} as const satisfies Record<string, GatewayError>;

/** Routes that change something: for control sessions only (docs/http-api.md#routes). */
export function controlRoutes({ settings, startWarmup, resetCircuit }: ControlRoutesDeps): Route[] {
  return [
    {
      method: 'GET',
      paths: ['/api/v1/settings'],
      who: 'control',
      handle: (_req, res) => sendJson(res, 200, settings.view()),
    },
    {
      method: 'PATCH',
      paths: ['/api/v1/settings'],
      who: 'control',
      handle: (req, res) => sendPatched(res, settings.patch(req.body), settings.view),
    },
    {
      method: 'POST',
      paths: ['/api/v1/warmup'],
      who: 'control',
      handle(_req, res) {
        const state = startWarmup();
        if (state === 'not_configured' || state === 'zero_spend') sendError(res, NO_WARMUP[state]);
        else sendJson(res, 202, { state });
      },
    },
    {
      method: 'POST',
      paths: ['/api/v1/circuits/:id/reset'],
      who: 'control',
      handle(req, res) {
        const id = String(req.params['id']);
        if (resetCircuit(id)) sendJson(res, 200, { id });
        else sendError(res, noCircuit(id));
      },
    },
  ];
}

function noCircuit(id: string): GatewayError {
  const message = `There is no circuit "${id.slice(0, 100)}"; there are ${UPSTREAM_IDS.join(', ')} and one for each provider.`;
  return { status: 404, code: 'not_found', message };
}

function sendPatched(res: Response, patched: Patched, view: () => SettingsView): void {
  switch (patched.kind) {
    case 'patched':
      sendJson(res, 200, view());
      break;
    case 'refused': {
      const { code, message, param } = patched;
      sendError(res, { status: code === 'set_by_environment' ? 409 : 400, code, message, param });
      break;
    }
    case 'unwritten':
      sendError(res, { status: 500, code: 'settings_unwritten', message: patched.message });
      break;
  }
}

/** What a control session may order of the running gateway. */
type Orders = Pick<ControlRoutesDeps, 'startWarmup' | 'resetCircuit'>;

/** What the orders act on. */
interface OrdersDeps {
  readonly config: () => Config;
  readonly remotes: () => readonly RemoteUpstream[];
  readonly warmup: WarmupRunner;
  readonly circuits: Circuits;
  readonly isProvider: (id: string) => boolean;
}

/** Makes the orders; each says what came of it. */
export function ordersOf({ config, remotes, warmup, circuits, isProvider }: OrdersDeps): Orders {
  return {
    startWarmup() {
      const upstream = remotes().find(({ id }) => id === 'ondemand');
      if (upstream === undefined) return 'not_configured';
      if (config().routing.forceZero) return 'zero_spend';
      warmup.start(upstream);
      return warmup.view().state;
    },
    resetCircuit(id) {
      if (!isUpstreamId(id) && !isProvider(id)) return false;
      circuits.reset(id);
      return true;
    },
  };
}

import { platform } from 'node:os';
import type { Request, Response } from 'express';
import { isObject } from '#shared/objects.ts';
import type { Sharing, SharingChanged } from '#shared/sharing.ts';
import type { Config } from '../../config/schema.ts';
import { outsideAddresses, urlHost } from '../../platform/http/server.ts';
import { sendJson } from '../../platform/http/responses.ts';
import type { GatewayError } from '../http/errors.ts';
import { sendError } from '../http/responses.ts';
import { type SettingsApi, unpatchedError } from './control-handlers.ts';
import type { Lifecycle } from './lifecycle.ts';
import { outsideHost } from './listeners.ts';

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
        const message = "'host' must be an address of this machine, such as 192.168.1.20.";
        sendError(res, { status: 400, code: 'invalid_request', message, param: 'host' });
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

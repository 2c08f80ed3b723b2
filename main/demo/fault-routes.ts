import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import { DEMO_FAULTS, type DemoFault } from '#shared/live.ts';
import { sendJson } from '../platform/http/responses.ts';
import type { Route } from '../platform/http/routes.ts';
import { sendError } from '../gateway/http/responses.ts';
import type { DemoEngine } from './engine.ts';

/** Breaks and heals the demo upstreams. */
export interface Faults {
  view(): Readonly<Record<UpstreamId, DemoFault>>;
  set(id: UpstreamId, fault: DemoFault): Promise<void>;
}

/** `changed` is called after each change. */
export function createFaults(engines: readonly DemoEngine[], changed: () => void): Faults {
  return {
    // There is one engine per id, which the type of fromEntries cannot express.
    view: () =>
      Object.fromEntries(engines.map((engine) => [engine.id, engine.fault()])) as Record<
        UpstreamId,
        DemoFault
      >,
    async set(id, fault) {
      await engines.find((engine) => engine.id === id)?.setFault(fault);
      changed();
    },
  };
}

export function isUpstreamId(text: unknown): text is UpstreamId {
  return UPSTREAM_IDS.some((id) => id === text);
}

export function isDemoFault(text: unknown): text is DemoFault {
  return DEMO_FAULTS.some((fault) => fault === text);
}

/** The routes by which the window and curl break and heal upstreams. */
export function faultRoutes(faults: Faults): Route[] {
  return [
    {
      method: 'PUT',
      paths: ['/api/v1/demo/faults/:id'],
      access: 'control',
      async handle(req, res) {
        const { id } = req.params;
        const { fault } = (req.body ?? {}) as { readonly fault?: unknown };
        if (!isUpstreamId(id)) {
          const message = `There is no upstream "${String(id)}"; use one of ${UPSTREAM_IDS.join(', ')}.`;
          sendError(res, { status: 404, code: 'not_found', message });
        } else if (isDemoFault(fault)) {
          await faults.set(id, fault);
          sendJson(res, 200, { faults: faults.view() });
        } else {
          const message = `'fault' must be one of ${DEMO_FAULTS.join(', ')}.`;
          sendError(res, { status: 400, code: 'invalid_request', message, param: 'fault' });
        }
      },
    },
  ];
}

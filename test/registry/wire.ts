import { createExpressListener } from '../../main/gateway/api/express.ts';
import { createIdentify } from '../../main/gateway/auth/keys.ts';
import { systemClock } from '../../main/platform/clock.ts';
import { createGuardedServer } from '../../main/platform/http/guarded-server.ts';
import { registryRoutes } from '../../main/registry/routes.ts';
import type { AgentMessage } from '../../main/registry/responses.ts';
import { bearer, send } from '../support/http.ts';
import { configOf } from '../support/config.ts';
import { listening } from '../support/listening.ts';
import { startRegistry } from './world.ts';

const CONTROL_TOKEN = 'c'.repeat(64);

/** What the owner of the gateway sends along. */
export const CONTROL = bearer(CONTROL_TOKEN);

export type WireWorld = Awaited<ReturnType<typeof startWire>>;

/** Serves a registry behind its routes, without the gateway's guard, on a free loopback port; stopped with the test. */
export async function startWire(
  given: Parameters<typeof startRegistry>[0] & { readonly apiKeys?: readonly string[] } = {},
) {
  const world = startRegistry(given);
  const bugs: unknown[] = [];
  const config = configOf({ INGLENOOK_API_KEYS: given.apiKeys?.join(',') ?? '' });
  const identify = createIdentify(
    {
      config: () => config,
      keys: { isEmpty: () => true, use: () => null },
      isShared: () => false,
      controlToken: CONTROL_TOKEN,
    },
    () => false,
  );
  const server = createGuardedServer(
    createExpressListener(registryRoutes(world.registry), {
      identify,
      refusedKey: () => undefined,
      gatewayUrl: () => 'http://gateway:47900',
      windowDirectory: '/nowhere',
      clock: systemClock,
      onBug: (error) => bugs.push(error),
    }),
    systemClock,
  );
  const url = `http://127.0.0.1:${await listening(server)}`;
  return {
    ...world,
    url,
    /** Errors that nobody expected. */
    bugs,
    post: ({ path, headers, body }: Omit<AgentMessage, 'ip'>) =>
      send(url + path, {
        method: 'POST',
        headers: headers as Record<string, string>,
        body: body.toString('utf8'),
      }),
  };
}

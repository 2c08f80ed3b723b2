import { createPlainClient } from './http1-client.ts';
import { createLazyClient } from './lazy-client.ts';
import type { HttpClient } from './types.ts';

/** What a connection attempt may take: a machine that is switched off answers nothing at all. */
const CONNECT_TIMEOUT_MS = 10_000;

/** Makes the client: over plain connections our own, over TLS undici, which is loaded with its first use. */
export function createHttpClient(): HttpClient {
  const plain = createPlainClient(CONNECT_TIMEOUT_MS);
  const tls = createLazyClient(async () => {
    const { createTlsClient } = await import('./tls-client.ts');
    return createTlsClient(CONNECT_TIMEOUT_MS);
  });
  return {
    send: (request, listener) =>
      (request.origin.startsWith('http:') ? plain : tls).send(request, listener),
    close: async () => {
      await Promise.all([plain.close(), tls.close()]);
    },
  };
}

import { createPlainClient } from './http1-client.ts';
import { createLazyClient } from './lazy-client.ts';
import type { HttpClient } from './types.ts';

/** Of a connection attempt: a machine that is switched off does not even refuse it. */
const CONNECT_TIMEOUT_MS = 10_000;

/** Uses our own client for `http:` origins and undici for `https:`, which is loaded on first use. */
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

import * as kinds from './setting-types.ts';
import { setting } from './setting-types.ts';

/** What requests may take of the gateway, in its section. */
export const LIMIT_SETTINGS = {
  maxBodyBytes: setting(
    'MAX_BODY_BYTES',
    kinds.byteCount,
    33_554_432,
    'Larger request bodies are refused.',
  ),
  maxBodiesInFlightBytes: setting(
    'MAX_BODIES_IN_FLIGHT_BYTES',
    kinds.memoryBytes,
    268_435_456,
    'Memory for all requests in flight, each body counted twice; beyond it apps get 503 and Retry-After.',
  ),
  maxConcurrentRequests: setting(
    'MAX_CONCURRENT_REQUESTS',
    kinds.count,
    5000,
    'Chat requests that run at the same time; more wait for up to 10 s, each app in turn, then get 503.',
  ),
};

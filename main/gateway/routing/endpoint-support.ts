import type { Clock } from '../../platform/clock.ts';
import type { ApiEndpoint } from '../upstream/endpoint.ts';
import type { Protocols } from '../upstream/upstreams.ts';

/**
 * `native`: the owner says so. `translated`: it has no such endpoint, so that only chat completions could stand in.
 * `unknown`: it is asked.
 */
export type Speaks = 'native' | 'translated' | 'unknown';

type Asked = Pick<ApiEndpoint, 'upstreamPath' | 'support'>;

/** The endpoints that upstreams and machines turned out to lack. */
export interface EndpointSupport {
  speaks(id: string, endpoint: Asked, protocols: Protocols): Speaks;
  /** It answered that there is no such endpoint. */
  refused(id: string, endpoint: Asked): void;
  /** Its address or its engine changed. */
  forget(id: string): void;
}

/** An engine may be replaced by a newer one. */
const REMEMBERED_MS = 600_000;
/** Several endpoints of a hundred machines; the oldest is dropped. */
const MAX_REMEMBERED = 1000;

export function createEndpointSupport(clock: Clock): EndpointSupport {
  /** The end of the time, in clock ticks, by upstream and path. */
  const lacking = new Map<string, number>();

  function lacks(id: string, { upstreamPath }: Asked): boolean {
    const until = lacking.get(keyOf(id, upstreamPath));
    return until !== undefined && until > clock.ticks();
  }

  return {
    speaks(id, endpoint, protocols) {
      if (endpoint.support === 'required') return 'native';
      if (endpoint.support === 'translatable' && protocols !== 'auto') {
        return protocols === 'native' ? 'native' : 'translated';
      }
      return lacks(id, endpoint) ? 'translated' : 'unknown';
    },
    refused(id, { upstreamPath }) {
      const key = keyOf(id, upstreamPath);
      // Moved to the end: the first entry is the oldest.
      lacking.delete(key);
      lacking.set(key, clock.ticks() + REMEMBERED_MS);
      if (lacking.size <= MAX_REMEMBERED) return;
      const [oldest] = lacking.keys();
      if (oldest !== undefined) lacking.delete(oldest);
    },
    forget(id) {
      for (const key of lacking.keys()) if (key.startsWith(keyOf(id, ''))) lacking.delete(key);
    },
  };
}

const keyOf = (id: string, path: string) => `${id} ${path}`;

import type { Clock } from '../../platform/clock.ts';
import type { ApiEndpoint } from '../protocols/endpoint.ts';
import type { Protocols } from '../upstream/upstreams.ts';

/**
 * `native`: the owner says so. `translated`: it has no such endpoint, so that only chat completions could stand in.
 * `unknown`: it is asked.
 */
export type Speaks = 'native' | 'translated' | 'unknown';

type Asked = Pick<ApiEndpoint, 'upstreamPath' | 'support'>;

/** What is known of an upstream before it is asked. */
export interface UpstreamFacts {
  readonly protocols: Protocols;
  /** Host and path of the base address, with a slash at the end; empty for `local`. */
  readonly address: string;
  /** The `owned_by` of its models, which identifies some engines; null while unknown. */
  readonly ownedBy: string | null;
}

/** The endpoints that upstreams and machines lack: by their documentation, by the owner's word, or as they answered. */
export type EndpointSupport = ReturnType<typeof createEndpointSupport>;

/** An engine may be replaced by a newer one. */
const REMEMBERED_MS = 600_000;
/** Several endpoints of a hundred machines; the oldest is dropped. */
const MAX_REMEMBERED = 1000;

export function createEndpointSupport(clock: Clock) {
  /** The end of the time, in clock ticks, by upstream and path. */
  const lacking = new Map<string, number>();

  function lacks(id: string, { upstreamPath }: Asked): boolean {
    const until = lacking.get(keyOf(id, upstreamPath));
    return until !== undefined && until > clock.ticks();
  }

  return {
    speaks(id: string, endpoint: Asked, known: UpstreamFacts): Speaks {
      const { protocols } = known;
      if (endpoint.support === 'required') return 'native';
      if (endpoint.support === 'translatable' && protocols !== 'auto') {
        return protocols === 'native' ? 'native' : 'translated';
      }
      if (protocols === 'auto' && isKnownToLack(endpoint.upstreamPath, known)) return 'translated';
      return lacks(id, endpoint) ? 'translated' : 'unknown';
    },
    /** It answered that there is no such endpoint. */
    refused(id: string, { upstreamPath }: Asked) {
      const key = keyOf(id, upstreamPath);
      // Moved to the end: the first entry is the oldest.
      lacking.delete(key);
      lacking.set(key, clock.ticks() + REMEMBERED_MS);
      if (lacking.size <= MAX_REMEMBERED) return;
      const [oldest] = lacking.keys();
      if (oldest !== undefined) lacking.delete(oldest);
    },
    /** Its address or its engine changed. */
    forget(id: string) {
      for (const key of lacking.keys()) if (key.startsWith(keyOf(id, ''))) lacking.delete(key);
    },
  };
}

const keyOf = (id: string, path: string) => `${id} ${path}`;

const MESSAGES = ['/messages', '/messages/count_tokens'];
const RESPONSES = ['/responses'];

/** Services whose documentation has no such endpoint. For one that adds it later, the owner sets `_PROTOCOLS=native`. */
const LACKING: readonly (readonly [address: RegExp, paths: readonly string[]])[] = [
  [/^api\.openai\.com\//, MESSAGES],
  [/^[^/]+\.openai\.azure\.com\//, MESSAGES],
  [/^api\.groq\.com\//, MESSAGES],
  [/^api\.anthropic\.com\//, RESPONSES],
  [/^api\.deepseek\.com\/anthropic\//, RESPONSES],
  [/^api\.deepseek\.com\/(?!anthropic\/)/, [...RESPONSES, ...MESSAGES]],
  [/^api\.mistral\.ai\//, [...RESPONSES, ...MESSAGES]],
];

/**
 * Whether an upstream is better asked for a chat completion. The streamed responses of llama.cpp (b11669) have no
 * `output_index`, without which OpenAI's clients throw, and call an answer that was cut off `completed`.
 */
function isKnownToLack(path: string, { address, ownedBy }: UpstreamFacts): boolean {
  if (ownedBy === 'llamacpp' && RESPONSES.includes(path)) return true;
  return LACKING.some(([at, paths]) => at.test(address) && paths.includes(path));
}

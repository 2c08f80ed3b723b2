import type { Knowledge } from '../memory/memory.ts';
import type { ApiEndpoint } from '../protocols/endpoint.ts';
import type { Protocols } from './upstreams.ts';

/** What is known of an upstream before it is asked. */
export interface EndpointFacts {
  readonly protocols: Protocols;
  /** Host and path of the base address, with a slash at the end; empty for `local`. */
  readonly address: string;
  /** The `owned_by` of its models, which identifies some engines; null while unknown. */
  readonly ownedBy: string | null;
}

/** Whether a chat completion has to stand in: by the documentation, by the owner's word, or as the upstream answered (`lacks`). */
export function lacksEndpoint(
  known: Knowledge,
  { upstreamPath, support }: Pick<ApiEndpoint, 'upstreamPath' | 'support'>,
  facts: EndpointFacts,
): boolean {
  const { protocols } = facts;
  if (support === 'required') return false;
  if (support === 'translatable' && protocols !== 'auto') return protocols === 'chat';
  if (protocols === 'auto' && isKnownToLack(upstreamPath, facts)) return true;
  return known.get('lacks', upstreamPath) !== null;
}

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
function isKnownToLack(path: string, { address, ownedBy }: EndpointFacts): boolean {
  if (ownedBy === 'llamacpp' && RESPONSES.includes(path)) return true;
  return LACKING.some(([at, paths]) => at.test(address) && paths.includes(path));
}

import { expect } from 'vitest';
import type { UpstreamId } from '#shared/ids.ts';
import type { Answer } from './client.ts';

/** What the caller is to get where the gateway words the answer itself. */
interface Worded {
  readonly status: number;
  readonly code: string;
  /** `X-Gateway-Fallback-Reason`; absent: no other upstream was asked than the last. */
  readonly reason?: string;
  /** The upstream whose failure is named as the last, and how it is described. */
  readonly last: readonly [UpstreamId, string];
  /** `Retry-After`; absent: `x-should-retry: false` where a client would try again by itself. */
  readonly retryAfter?: string;
}

const TYPES: Readonly<Record<number, string>> = { 404: 'not_found_error', 429: 'rate_limit_error' };

/** What a caller sees of an answer that the gateway words: the head, its headers, the parsed body. */
export function wordOf({ status, upstream, reason, headers, text }: Answer) {
  return {
    status,
    upstream,
    reason,
    type: headers['content-type'],
    retryAfter: headers['retry-after'],
    shouldRetry: headers['x-should-retry'],
    body: JSON.parse(text) as unknown,
  };
}

/** All of what `wordOf` should see. */
export function worded({ status, code, last, retryAfter, ...given }: Worded) {
  const [upstream, description] = last;
  const { reason = `${upstream}=${description.split(' (', 1)[0]}` } = given;
  return {
    status,
    upstream: 'none',
    reason,
    type: 'application/json; charset=utf-8',
    retryAfter,
    shouldRetry: retryAfter === undefined && status >= 500 ? 'false' : undefined,
    body: {
      error: {
        message: expect.stringMatching(sentenceOf(last)) as unknown,
        type: TYPES[status] ?? 'server_error',
        code,
        param: null,
      },
      src: 'gateway',
    },
  };
}

/** What the message says of the upstream that was tried last: the detail, behind words for the reason. */
function sentenceOf([upstream, description]: Worded['last']): RegExp {
  const [reason = '', detail = ''] = description.split(/ (?=\()/);
  const said = reason.startsWith('http_') ? detail.slice(1, -1) : detail;
  const escaped = said.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  // Its own first words stand behind the detail.
  const withWords = escaped.replace(/(\\\))?$/, '(: .+)?$1');
  return new RegExp(`^No source answered\\..* ${upstream} [^.]+ ${withWords}\\.( |$)`);
}

/** Environment names of the base addresses. */
const ADDRESS = {
  local: 'LOCAL_ENGINE_URL',
  hosted_a: 'HOSTED_A_BASE_URL',
  hosted_b: 'HOSTED_B_BASE_URL',
  hosted_c: 'HOSTED_C_BASE_URL',
  ondemand: 'ONDEMAND_BASE_URL',
} as const satisfies Record<UpstreamId, string>;

/** Settings that point upstreams at addresses. */
export function at(urls: Partial<Readonly<Record<UpstreamId, string>>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(urls).map(([id, url]) => [ADDRESS[id as UpstreamId], url]),
  );
}

import { HOSTED_IDS, type HostedId, type UpstreamId } from '#shared/ids.ts';
import type { Config } from '../../config.ts';
import type { PrefillFacts } from '../resume/prefill.ts';

/** Where requests to an upstream go: a base address, split for the wire once. */
export interface Endpoint {
  readonly origin: string;
  /** Path of the base address, without a slash at its end. */
  readonly basePath: string;
  /** Query of the base address with its `?`, or empty. */
  readonly query: string;
  /** `Basic` credentials from the address's userinfo, or null. */
  readonly basicAuth: string | null;
}

/** A hosted upstream or `ondemand`, ready to be called. */
export interface RemoteUpstream {
  readonly id: HostedId | 'ondemand';
  readonly endpoint: Endpoint;
  readonly chatPath: string;
  /** What `model` is set to; null leaves the caller's. */
  readonly model: string | null;
  readonly apiKey: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly assemble: boolean;
  /** What is known beforehand of how it can be asked to go on from a begun answer. */
  readonly prefill: PrefillFacts;
}

/** The engine or provider that serves `local` for one request. */
export interface LocalTarget {
  /** Null for a fixed engine. */
  readonly provider: string | null;
  readonly endpoint: Endpoint;
  /** What it offers, the one in use first; null while unknown. */
  readonly models: readonly string[] | null;
  /** The `owned_by` of its models, by which engines give themselves away; null while unknown. */
  readonly ownedBy: string | null;
  /** What the agent knows the gateway by; null for a fixed engine. */
  readonly gatewayToken: string | null;
}

/** Paths behind the base address (interface 2.5). */
export const CHAT_PATH = { local: '/v1/chat/completions', hosted: '/chat/completions' } as const;

/** The path that an upstream's chat completions go to. */
export function chatPathOf(id: UpstreamId): string {
  return id === 'local' || id === 'ondemand' ? CHAT_PATH.local : CHAT_PATH.hosted;
}

/**
 * Splits a base address. For `local` and `ondemand` a `/v1` at the end is dropped: their paths bring
 * it along, and people paste either form.
 */
export function endpointOf(baseUrl: string, id: UpstreamId): Endpoint {
  const url = new URL(baseUrl);
  const path = url.pathname.replace(/\/+$/, '');
  const userinfo = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return {
    origin: url.origin,
    basePath: chatPathOf(id) === CHAT_PATH.local ? path.replace(/\/v1$/, '') : path,
    query: url.search,
    basicAuth: userinfo === ':' ? null : `Basic ${Buffer.from(userinfo).toString('base64')}`,
  };
}

/** The hosted upstreams that are configured, in routing order, then `ondemand`. */
export function remoteUpstreams(config: Config): RemoteUpstream[] {
  return [...HOSTED_IDS, 'ondemand' as const].flatMap((id) => {
    const { baseUrl, apiKey, model, headers, timeoutMs, assemble, prefill } = config[id];
    if (baseUrl === null) return [];
    const endpoint = endpointOf(baseUrl, id);
    const address = `${new URL(baseUrl).hostname}${endpoint.basePath}/`;
    return [
      {
        id,
        endpoint,
        chatPath: chatPathOf(id),
        model,
        apiKey,
        headers,
        timeoutMs,
        assemble,
        prefill: { setting: prefill, address, ownedBy: null },
      },
    ];
  });
}

/** The model id for `local`: the caller's where it is offered, else what the engine has (design 4). */
export function localModel(target: LocalTarget, asked: string | null): string | null {
  if (target.models === null || target.models.length === 0) return asked;
  if (asked !== null && target.models.includes(asked)) return asked;
  return target.models[0] ?? asked;
}

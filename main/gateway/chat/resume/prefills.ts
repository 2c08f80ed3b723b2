import type { UpstreamId } from '#shared/ids.ts';
import { isObject } from '#shared/objects.ts';
import type { Clock } from '../../../platform/clock.ts';
import { get } from '../../../platform/http/fetch-body.ts';
import type { HttpClient } from '../../../platform/http/types.ts';
import type { UpstreamCall } from '../../upstream/call.ts';
import { parseJson } from '../../upstream/completion.ts';
import {
  type Continuing,
  continuingOf,
  prefillAt,
  type PrefillFacts,
  type RemoteUpstream,
  upstreamPath,
} from '../../upstream/upstreams.ts';

/** What is known of who goes on from a begun answer, and how. */
export interface Prefills {
  /** How `call` can be asked to go on; null where it cannot, or once refused. */
  of(call: UpstreamCall): Continuing | null;
  /**
   * Asks the models routes of those that nothing is known of, which cost nothing and get a moment at most; until
   * it is known of the first of them, in this order, that it can go on.
   */
  learn(ahead: readonly Candidate[]): Promise<void>;
  /** It refused to go on, or began the answer anew; so it will with this model for a while. */
  refused(call: UpstreamCall): void;
  /** It has another address, key or model. */
  forget(id: UpstreamId): void;
}

/** A hosted upstream that may be asked to go on with an answer of this model. */
export interface Candidate {
  readonly upstream: RemoteUpstream;
  readonly model: string;
}

/** A caller waits for it, in the middle of an answer. */
const ASK_TIMEOUT_MS = 2000;
const MAX_LIST_BYTES = 4 * 1024 * 1024;
/** Engines are replaced now and then, and one that did not answer may be back. */
const KNOWN_FOR_MS = 600_000;
const UNKNOWN_FOR_MS = 60_000;
const REFUSED_FOR_MS = 3_600_000;
/** Beyond so many the oldest refusal goes: callers choose the models' names. */
const MAX_REFUSALS = 1000;

interface Asked {
  /** The owner of each model; empty where the route did not say. */
  readonly owners: Promise<ReadonlyMap<string, string>>;
  known: ReadonlyMap<string, string>;
  until: number;
}

/** Makes the memory, empty. */
export function createPrefills(http: HttpClient, clock: Clock): Prefills {
  const lists = new Map<UpstreamId, Asked>();
  const refusals = new Map<string, number>();

  async function ownersAt(upstream: RemoteUpstream): Promise<ReadonlyMap<string, string>> {
    const { id, endpoint, apiKey } = upstream;
    const { origin, basePath, query, basicAuth } = endpoint;
    const authorization = apiKey === null ? basicAuth : `Bearer ${apiKey}`;
    const headers = Object.entries(upstream.headers).flat();
    if (authorization !== null) headers.push('authorization', authorization);
    const path = basePath + upstreamPath(id, '/models') + query;
    const limits = { timeoutMs: ASK_TIMEOUT_MS, maxBytes: MAX_LIST_BYTES };
    const answer = await get({ origin, path, headers, ...limits }, http, clock);
    const isList = answer.kind === 'response' && answer.status === 200;
    return isList ? ownersIn(answer.body) : new Map();
  }

  async function learnOf(upstream: RemoteUpstream): Promise<void> {
    const { id } = upstream;
    const before = lists.get(id);
    if (before !== undefined && clock.ticks() < before.until) return void (await before.owners);
    const asked: Asked = {
      owners: ownersAt(upstream),
      known: before?.known ?? new Map(),
      until: clock.ticks() + KNOWN_FOR_MS,
    };
    lists.set(id, asked);
    asked.known = await asked.owners;
    if (asked.known.size === 0) asked.until = clock.ticks() + UNKNOWN_FOR_MS;
  }

  function continuing(id: UpstreamId, model: string, facts: PrefillFacts): Continuing | null {
    const ownedBy = facts.ownedBy ?? ownerOf(model, lists.get(id)?.known);
    return continuingOf({ ...facts, ownedBy });
  }

  return {
    of(call) {
      const isRefused = clock.ticks() < (refusals.get(keyOf(call)) ?? 0);
      return isRefused ? null : continuing(call.upstream, call.model, call.prefill);
    },
    async learn(ahead) {
      const learnt = ahead.map(({ upstream }) =>
        isToBeAsked(upstream) ? learnOf(upstream) : Promise.resolve(),
      );
      for (const [at, { upstream, model }] of ahead.entries()) {
        await learnt[at];
        if (continuing(upstream.id, model, upstream.prefill) !== null) return;
      }
    },
    refused(call) {
      const [oldest] = refusals.keys();
      if (refusals.size >= MAX_REFUSALS && oldest !== undefined) refusals.delete(oldest);
      refusals.set(keyOf(call), clock.ticks() + REFUSED_FOR_MS);
    },
    forget(id) {
      lists.delete(id);
      for (const key of refusals.keys()) if (key.startsWith(`${id} `)) refusals.delete(key);
    },
  };
}

/** The engine's name decides, or proves that what is set is known of it. */
function isToBeAsked({ prefill: { setting, address } }: RemoteUpstream): boolean {
  return (
    (setting === 'auto' || setting === 'continue_final_message') && prefillAt(address) === null
  );
}

function keyOf({ upstream, provider, model, prefill }: UpstreamCall): string {
  return `${upstream} ${provider ?? ''} ${prefill.setting} ${model}`;
}

/** A list may leave out aliases and adapters; then all its models being of one engine says enough. */
function ownerOf(model: string, owners: ReadonlyMap<string, string> | undefined): string | null {
  if (owners === undefined) return null;
  const all = new Set(owners.values());
  const [only] = all;
  return owners.get(model) ?? (all.size === 1 ? (only ?? null) : null);
}

function ownersIn(body: Buffer): ReadonlyMap<string, string> {
  const list = parseJson(body.toString('utf8'));
  const entries = isObject(list) && Array.isArray(list['data']) ? (list['data'] as unknown[]) : [];
  const owners = new Map<string, string>();
  for (const entry of entries) {
    if (!isObject(entry)) continue;
    const { id, owned_by: owner } = entry;
    if (typeof id === 'string' && typeof owner === 'string') owners.set(id, owner);
  }
  return owners;
}

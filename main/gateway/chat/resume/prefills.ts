import type { UpstreamId } from '#shared/ids.ts';
import { isObject, parseJson } from '../../../platform/json.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { HttpClient } from '../../../platform/http/types.ts';
import type { UpstreamCall } from '../../upstream/call.ts';
import { fetchModelList } from '../../upstream/model-catalogue.ts';
import {
  type Continuing,
  continuingMessage,
  continuingOf,
  prefillAt,
  type PrefillFacts,
  type RemoteUpstream,
} from '../../upstream/upstreams.ts';

export type Prefills = ReturnType<typeof createPrefills>;

/** A hosted upstream that might continue an answer of `model`. */
export interface PrefillCandidate {
  readonly upstream: RemoteUpstream;
  readonly model: string;
}

/** A caller is waiting, in the middle of an answer. */
const LIST_LIMITS = { timeoutMs: 2000, maxBytes: 4 * 1024 * 1024 };
/** How long a list counts, as engines are replaced; a shorter time where there was no answer. */
const KNOWN_FOR_MS = 600_000;
const UNKNOWN_FOR_MS = 60_000;
const REFUSED_FOR_MS = 3_600_000;
/** Callers choose the model names, so their number is bounded; the oldest is dropped. */
const MAX_REFUSALS = 1000;

interface ModelList {
  /** The owner of each model; empty if the list has none. */
  readonly owners: Promise<ReadonlyMap<string, string>>;
  /** The last list that was read, also while the next one is. */
  known: ReadonlyMap<string, string>;
  /** In clock ticks. */
  until: number;
}

export function createPrefills(http: HttpClient, clock: Clock) {
  const lists = new Map<UpstreamId, ModelList>();
  const refusals = new Map<string, number>();

  async function ownersAt(upstream: RemoteUpstream): Promise<ReadonlyMap<string, string>> {
    const answer = await fetchModelList(upstream, LIST_LIMITS, { http, clock });
    const isList = answer.kind === 'response' && answer.status === 200;
    return isList ? ownersIn(answer.body) : new Map();
  }

  async function readList(upstream: RemoteUpstream): Promise<void> {
    const { id } = upstream;
    const before = lists.get(id);
    if (before !== undefined && clock.ticks() < before.until) return void (await before.owners);
    const list: ModelList = {
      owners: ownersAt(upstream),
      known: before?.known ?? new Map(),
      until: clock.ticks() + KNOWN_FOR_MS,
    };
    lists.set(id, list);
    list.known = await list.owners;
    if (list.known.size === 0) list.until = clock.ticks() + UNKNOWN_FOR_MS;
  }

  function known(id: UpstreamId, model: string, facts: PrefillFacts): PrefillFacts {
    return { ...facts, ownedBy: facts.ownedBy ?? ownerOf(model, lists.get(id)?.known) };
  }

  return {
    /** How `call` can be asked to continue; null if it cannot, or has refused. */
    of(call: UpstreamCall): Continuing | null {
      if (clock.ticks() < (refusals.get(keyOf(call)) ?? 0)) return null;
      const { upstream, model, prefill, endpoint } = call;
      const facts = known(upstream, model, prefill);
      return endpoint.vendor === 'anthropic'
        ? continuingMessage(facts, model)
        : continuingOf(facts);
    },
    /**
     * Reads the lists of models of upstreams whose engine is unknown, which costs nothing. Waits, within the
     * timeout of 2 s, until the first upstream in this order is known to continue, or none is.
     */
    async learn(candidates: readonly PrefillCandidate[]) {
      const readings = candidates.map(({ upstream }) =>
        needsList(upstream) ? readList(upstream) : Promise.resolve(),
      );
      for (const [index, { upstream, model }] of candidates.entries()) {
        await readings[index];
        if (continuingOf(known(upstream.id, model, upstream.prefill)) !== null) return;
      }
    },
    /** It refused to continue, or began the answer from the start: it is not asked again with this model for an hour. */
    refused(call: UpstreamCall) {
      const [oldest] = refusals.keys();
      if (refusals.size >= MAX_REFUSALS && oldest !== undefined) refusals.delete(oldest);
      refusals.set(keyOf(call), clock.ticks() + REFUSED_FOR_MS);
    },
    /** Its address, key or model changed. */
    forget(id: UpstreamId) {
      lists.delete(id);
      for (const key of refusals.keys()) if (key.startsWith(`${id} `)) refusals.delete(key);
    },
  };
}

/** The engine's name decides `auto`, and confirms the other setting. */
function needsList({ prefill: { setting, address } }: RemoteUpstream): boolean {
  return (
    (setting === 'auto' || setting === 'continue_final_message') && prefillAt(address) === null
  );
}

function keyOf({ upstream, provider, model, prefill, endpoint }: UpstreamCall): string {
  return `${upstream} ${provider ?? ''} ${prefill.setting} ${endpoint.upstreamPath} ${model}`;
}

/** A list may omit aliases and adapters: then one owner of all its models is enough. */
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

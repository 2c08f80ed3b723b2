import type { Config } from '../../config/schema.ts';
import { isForChat } from '../../engines/models.ts';
import type { Circuits } from '../circuits/circuits.ts';
import type { Knowledge } from '../memory/memory.ts';
import { unreadShare } from '../protocols/prompt-chain.ts';
import { tokensIn } from '../protocols/tokens.ts';
import type { LocalForm, PromptReading } from '../upstream/call.ts';
import { askedNames } from '../upstream/upstreams.ts';
import { chainFor, readingAt } from './lessons.ts';

/* Which of several machines is called for a prompt. */

/** An engine or machine that may serve a request, and how. */
export interface LocalOption extends LocalForm {
  /** The id of its circuit. */
  readonly id: string;
  readonly known: Knowledge;
}

export interface ChoiceDeps {
  readonly circuits: Circuits;
  /** In [0, 1). */
  readonly random: () => number;
  readonly inFlightAt: (id: string) => number;
}

/** Machines called for one request. */
const MAX_TRIES = 3;

/**
 * At most three admitted machines in the order of the calls: those that have the requested model in memory, those that
 * have it on disk, then others with their own, of which those with one in memory come first.
 */
export function preferred(
  admitted: readonly LocalOption[],
  config: Config,
  { circuits, random, inFlightAt }: ChoiceDeps,
): readonly PoolMember[] {
  const [any] = admitted;
  const chain = any === undefined ? null : chainFor(any.form, config);
  const promptTokens = any === undefined ? 0 : tokensIn(any.form.request.bytes);
  const members = shuffled(admitted, random).map((option): PoolMember => {
    const { id, known, model } = option;
    const { prefix, tokensPerSecond } = readingAt(known, chain, model ?? '');
    return {
      option,
      prefix,
      tokensPerSecond,
      ewmaTtft: circuits.at(id).breaker.health.ttft?.value ?? null,
      newTokens: promptTokens * unreadShare(prefix),
      inFlight: inFlightAt(id),
      isHome: prefix?.isConversation ?? false,
      cached: prefix === null ? 0 : known.count('prefixes'),
    };
  });
  const byRank = Map.groupBy(members, ({ option }) => rankOf(option));
  return RANKS.flatMap((rank) => cheapestFirst(byRank.get(rank) ?? [])).slice(0, MAX_TRIES);
}

const RANKS = [0, 1, 2, 3] as const;

/**
 * 0: it does not say that it would have to load the model; 1: it would; 2: it has not got that, and need not load the one
 * with which it answers to any other name; 3: it must.
 */
function rankOf({ target: { models, facts }, form }: LocalOption): (typeof RANKS)[number] {
  const { model } = form.request;
  const offered = model === null ? [] : models.filter((each) => askedNames(each).includes(model));
  const isLoaded = (name: string) => facts.find(({ id }) => id === name)?.loaded !== false;
  if (offered.some(isLoaded)) return 0;
  if (offered.length > 0) return 1;
  return facts.find(isForChat)?.loaded === false ? 3 : 2;
}

interface PoolMember extends Standing, PromptReading {
  readonly option: LocalOption;
}

/** What decides how soon a machine is expected to answer. */
export interface Standing extends Pick<PromptReading, 'tokensPerSecond'> {
  /** Time-decayed mean of its times to first token and of its silences, in milliseconds; null while unknown. */
  readonly ewmaTtft: number | null;
  /** What it has yet to read of the prompt: the part behind the prefix in its cache. */
  readonly newTokens: number;
  readonly inFlight: number;
  /** It has the conversation in its cache, not just a system prompt that many begin with. */
  readonly isHome: boolean;
  /** How many beginnings of prompts it has. */
  readonly cached: number;
}

/** A small GPU. */
const DEFAULT_TOKENS_PER_SECOND = 1000;
/** What an answer takes apart from prefill. More precise times are noise, and a cost of 0 would stay 0 under any load. */
const BASE_MS = 100;
/** Costs are estimates: what is nearer to the best is as good. */
const NEAR = 1.1;

/**
 * Machines in the order of preference: the lowest expected time to first token times load first, so that a warm cache, load
 * and speed are one number. Among those that are about as good the conversation's own comes first, then the one that has
 * read the fewest messages, as caches are small.
 */
export function cheapestFirst<Member extends Standing>(members: readonly Member[]): Member[] {
  const known = members.flatMap(({ tokensPerSecond }) => tokensPerSecond ?? []);
  const usual =
    known.length === 0
      ? DEFAULT_TOKENS_PER_SECOND
      : known.reduce((total, each) => total + each, 0) / known.length;

  function costOf({ tokensPerSecond, ewmaTtft, newTokens, inFlight }: Standing): number {
    // Short prompts tell nothing of its prefill, but all of them tell how slow it is apart from that.
    const baseMs = tokensPerSecond === null ? Math.max(BASE_MS, ewmaTtft ?? 0) : BASE_MS;
    const readingMs = (1000 * newTokens) / (tokensPerSecond ?? usual);
    return (baseMs + readingMs) * (inFlight + 1);
  }

  const costed = members.map((member) => ({ member, cost: costOf(member) }));
  const best = Math.min(...costed.map(({ cost }) => cost));
  const isNear = ({ cost }: { readonly cost: number }) => cost <= NEAR * best;
  return costed
    .toSorted((a, b) =>
      isNear(a) && isNear(b)
        ? Number(b.member.isHome) - Number(a.member.isHome) ||
          a.member.cached - b.member.cached ||
          a.cost - b.cost
        : a.cost - b.cost,
    )
    .map(({ member }) => member);
}

function shuffled<T>(items: readonly T[], random: () => number): readonly T[] {
  const drawn = items.map((item) => ({ item, at: random() }));
  return drawn.toSorted((a, b) => a.at - b.at).map(({ item }) => item);
}

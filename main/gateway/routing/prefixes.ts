import type { Tokens } from '#shared/usage.ts';
import type { Clock } from '../../platform/clock.ts';
import type { CachedPrefix, PromptChain } from '../protocols/prompt-chain.ts';

/** Which machine has which prompts in its cache, as far as the gateway knows from what it sent there. */
export interface Prefixes {
  at(id: string, chain: PromptChain): CachedPrefix;
  countAt(id: string): number;
  /** The machine has read the whole prompt. */
  read(id: string, prompt: Pick<PromptChain, 'keys' | 'session'>): void;
  /**
   * Takes what the machine reports of a prompt: if it had far less than is known here, what it read even earlier is gone as
   * well. Gives the share that it had; null if it does not report it.
   */
  told(id: string, prefix: CachedPrefix, tokens: Tokens): number | null;
  /** Its engine has started again, or has another model. */
  forget(id: string): void;
}

const MAX_CONVERSATIONS = 4096;
const MAX_IDLE_MS = 3_600_000;
/** Of a conversation: the first, and the latest, as of a prompt. */
const MAX_KEYS = 64;
/** Engines keep whole blocks, and templates leave out earlier thoughts: somewhat less is no loss. */
const LOST_BELOW = 0.5;

interface Conversation {
  readonly id: string;
  /** Shortest prefix first. */
  keys: readonly number[];
  session: number | null;
  /** In clock ticks. */
  readAt: number;
}

/** The machine's conversations by each of their keys, of which the latest one counts. */
type Machine = Map<number, Conversation>;

export function createPrefixes(clock: Clock): Prefixes {
  const machines = new Map<string, Machine>();
  const counts = new Map<string, number>();
  /** The one that was read longest ago first. */
  const all = new Set<Conversation>();
  /** Machines that report what they reuse. Others report 0 or nothing, which are the same here. */
  const tellers = new Set<string>();

  function drop(gone: Conversation): void {
    all.delete(gone);
    unlink(gone, gone.session === null ? gone.keys : [...gone.keys, gone.session]);
    const count = (counts.get(gone.id) ?? 0) - 1;
    if (count > 0) {
      counts.set(gone.id, count);
      return;
    }
    counts.delete(gone.id);
    machines.delete(gone.id);
  }

  function unlink(from: Conversation, keys: readonly number[]): void {
    const machine = machines.get(from.id);
    for (const key of keys) if (machine?.get(key) === from) machine.delete(key);
  }

  function dropOld(): void {
    const since = clock.ticks() - MAX_IDLE_MS;
    for (const oldest of all) {
      if (all.size <= MAX_CONVERSATIONS && oldest.readAt >= since) return;
      drop(oldest);
    }
  }

  function begun(id: string): Conversation {
    counts.set(id, (counts.get(id) ?? 0) + 1);
    return { id, keys: [], session: null, readAt: 0 };
  }

  return {
    at(id, chain) {
      dropOld();
      const machine = machines.get(id);
      const at = machine === undefined ? -1 : longest(machine, chain);
      const known = machine?.get(chain.keys[at] ?? -1);
      const named = chain.session === null ? undefined : machine?.get(chain.session);
      return {
        chain,
        bytes: chain.lengths[at] ?? 0,
        isConversation: at > 0 || named !== undefined,
        readAt: known?.readAt ?? null,
      };
    },
    countAt: (id) => counts.get(id) ?? 0,
    read(id, chain) {
      const { keys: given, session } = chain;
      const machine = machines.get(id) ?? new Map<number, Conversation>();
      machines.set(id, machine);
      const at = longest(machine, chain);
      const before = machine.get(given[at] ?? -1);
      // A prompt that extends the last key continues the conversation; one that leaves it earlier is a branch.
      const goesOn = before !== undefined && before.keys.at(-1) === given[at];
      const now = goesOn ? before : begun(id);
      const keys = goesOn ? [...now.keys, ...given.slice(at + 1)] : given;
      const firstKept = keys.length - MAX_KEYS + 1;
      now.keys = firstKept <= 1 ? keys : [...keys.slice(0, 1), ...keys.slice(firstKept)];
      if (goesOn && firstKept > 1) unlink(now, keys.slice(1, firstKept));
      for (const key of now.keys) machine.set(key, now);
      if (session !== null) {
        if (now.session !== null) unlink(now, [now.session]);
        machine.set(session, now);
        now.session = session;
      }
      now.readAt = clock.ticks();
      all.delete(now);
      all.add(now);
      dropOld();
    },
    told(id, { chain, bytes, readAt }, { input, cached, estimated }) {
      if (cached > 0) tellers.add(id);
      if (estimated || input === 0 || !tellers.has(id)) return null;
      const share = cached / input;
      // A system prompt alone may be in a slot that is taken, while this prompt got another.
      const isMissed =
        bytes > (chain.lengths[0] ?? 0) && share < (LOST_BELOW * bytes) / chain.bytes;
      // Engines drop first what was used longest ago.
      if (readAt !== null && isMissed)
        for (const each of all) if (each.id === id && each.readAt <= readAt) drop(each);
      return share;
    },
    forget(id) {
      tellers.delete(id);
      for (const each of all) if (each.id === id) drop(each);
    },
  };
}

/** Which of the prompt's prefixes is the longest that the machine has; -1: none. */
function longest(machine: Machine, { keys }: Pick<PromptChain, 'keys'>): number {
  // All of them begin with the first, so most prompts and machines need one look.
  if (!machine.has(keys[0] ?? -1)) return -1;
  return keys.findLastIndex((key) => machine.has(key));
}

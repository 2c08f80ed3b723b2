import type { Tokens, TurnReading } from '#shared/usage.ts';
import type { Knowledge, Memory } from '../memory/memory.ts';
import type { ReadTurn } from '../memory/topics.ts';
import type { PromptChain } from '../protocols/prompt-chain.ts';
import type { UpstreamCall } from '../upstream/call.ts';

/* Why an engine read tokens again that had been read for an earlier turn of the conversation. */

/** The latest turn before this one, and the upstream or machine that read it. */
interface EarlierTurn {
  readonly id: string;
  readonly turn: ReadTurn;
}

/** A turn that an engine has just read. */
interface Turn {
  /** Of the upstream or machine. */
  readonly id: string;
  /** In clock ticks. */
  readonly readAt: number;
  readonly chain: PromptChain;
  readonly tokens: Tokens;
  readonly call: Pick<UpstreamCall, 'model' | 'isLoading'>;
}

/** Engines keep whole blocks, and templates change the end of a prompt: fewer are no loss. */
const LEAST_TOKENS = 256;
const LEAST_SHARE = 0.05;

/** Null if the engine had what it had read before, or nothing is known that would explain it. */
function whyRead(
  earlier: EarlierTurn | null,
  { chain, id, tokens, call }: Turn,
): TurnReading | null {
  if (earlier === null)
    return chain.hasAnswer() ? null : { why: 'first_turn', again: 0, message: null };
  const { turn } = earlier;
  const again = Math.min(turn.input, tokens.input) - tokens.cached;
  if (again < Math.max(LEAST_TOKENS, LEAST_SHARE * tokens.input)) return null;
  const because = (why: TurnReading['why'], message: number | null = null) => {
    return { why, again, message };
  };
  if (earlier.id !== id) return because('another_machine');
  if (turn.model !== call.model) return because('another_model');
  if (turn.isUnloaded || call.isLoading) return because('unloaded');
  const at = lastCommon(turn, chain);
  if (at === -1) return because(turn.tools === chain.tools ? 'system' : 'tools');
  const isSame = chain.keys[at] === turn.keys.at(-1) || at === chain.keys.length - 1;
  if (isSame) return because('evicted');
  const part = chain.behind(at);
  return because(part?.kind ?? 'message', part?.position ?? null);
}

/** Notes the turn as read, and says why it was read as far as the engine reports what it had in its cache. */
export function noteTurn(memory: Memory, known: Knowledge, turn: Turn): TurnReading | null {
  const { chain, tokens, call, readAt } = turn;
  const { keys, tools, session, anchors } = chain;
  // A text has no messages to name, and estimated tokens say nothing of the cache.
  if (anchors.length === 0 || tokens.estimated || tokens.input === 0) return null;
  const isTold = known.get('tells_reuse') !== null;
  // Searched for before this turn is noted, which would be found.
  const earlier = isTold ? earlierTurn(memory, chain) : null;
  const names = [keys.at(-1) ?? 0, ...anchors, ...(session === null ? [] : [session])];
  const { input } = tokens;
  const { model } = call;
  known.setAll('turns', names, { model, keys, tools, input, isUnloaded: false, readAt });
  return isTold ? whyRead(earlier, turn) : null;
}

/** The index of the last prefix that an earlier turn had as well; -1: not even the first. */
function lastCommon({ keys }: ReadTurn, chain: PromptChain): number {
  const before = new Set(keys);
  return chain.keys.findLastIndex((key) => before.has(key));
}

/** Of the turns that may be of this conversation, the one that has most of it, and of several the latest. */
function earlierTurn(memory: Memory, chain: PromptChain): EarlierTurn | null {
  // Two conversations may begin alike, which one without an answer cannot tell from its own earlier turn.
  const names = chain.hasAnswer() ? [...chain.anchors, chain.session] : [];
  const found = memory.ids('turns').flatMap((id) => {
    const known = memory.of(id);
    const end = chain.keys.findLast((key, at) => at > 0 && known.get('turns', key) !== null);
    return [end ?? null, ...names].flatMap((name) => {
      const turn = name === null ? null : known.get('turns', name);
      return turn === null ? [] : [{ id, turn, common: lastCommon(turn, chain) }];
    });
  });
  return found.toSorted((a, b) => b.common - a.common || b.turn.readAt - a.turn.readAt)[0] ?? null;
}

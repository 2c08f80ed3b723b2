import { isObject } from '#shared/objects.ts';
import { contentOf, keptOf } from './delta.ts';
import { createTextSplice, type Diverged, type SpliceWay } from './text-splice.ts';
import { withoutIdentity, type Transcript } from './transcript.ts';
import { continuedUsage } from './usage.ts';

/** What is to become of the second stream. */
export interface SplicePlan {
  readonly way: SpliceWay;
  /** The caller asked for the usage, which must then add up. */
  readonly includeUsage: boolean;
}

/** A chunk as it was parsed. */
export type Chunk = Readonly<Record<string, unknown>>;

/** What stands for a chunk of the second stream. */
export type SplicedChunk =
  /** Null: there is nothing new in it. */
  { readonly kind: 'chunk'; readonly chunk: Chunk | null } | Diverged;

/** Turns chunks of the second stream into chunks of the first. */
export interface ChunkSplice {
  take(chunk: Chunk): SplicedChunk;
  /** The stream ends: a chunk with what was held back. */
  end(): SplicedChunk;
}

const NOTHING: SplicedChunk = { kind: 'chunk', chunk: null };

/** Makes one for the rest of the answer that `transcript` begins. */
export function createChunkSplice(transcript: Transcript, plan: SplicePlan): ChunkSplice {
  const text = createTextSplice(transcript, plan.way);
  let hasRole = transcript.hasRole;

  function usageOf(usage: unknown): unknown {
    const isPartial = plan.way.kind === 'continued' && plan.includeUsage;
    return isPartial ? continuedUsage(usage, transcript.contentEvents) : usage;
  }

  function takeChoice(choice: Chunk, rest: Chunk): SplicedChunk {
    const { delta: given, ...others } = choice;
    const delta = isObject(given) ? given : {};
    const isLast = (others['finish_reason'] ?? null) !== null;
    const taken = text.take(delta, isLast);
    if (taken.kind === 'diverged') return taken;

    const kept = keptOf(delta, { ...taken, isRoleNew: !hasRole });
    if (typeof kept?.['role'] === 'string') hasRole = true;
    if (kept === null && !isLast && !isObject(rest['usage'])) return NOTHING;
    // They are of the tokens of the whole delta.
    const isChanged = taken.content !== contentOf(delta) && 'logprobs' in others;
    const logprobs = isChanged ? { logprobs: null } : {};
    const choices = [{ ...others, index: 0, ...logprobs, delta: kept ?? {} }];
    return { kind: 'chunk', chunk: { ...rest, choices } };
  }

  return {
    take(chunk) {
      const { choices, ...fields } = chunk;
      const usage = 'usage' in fields ? { usage: usageOf(fields['usage']) } : {};
      const rest = { ...transcript.head, ...withoutIdentity(fields), ...usage };
      if (!Array.isArray(choices)) return { kind: 'chunk', chunk: rest };
      if (choices.length === 0) return { kind: 'chunk', chunk: { ...rest, choices } };
      const choice = (choices as readonly unknown[]).find(isTheChoice);
      return choice === undefined ? NOTHING : takeChoice(choice, rest);
    },
    end() {
      const last = text.end();
      if (last.kind === 'diverged') return last;
      if (last.content === '') return NOTHING;
      const choices = [{ index: 0, delta: { content: last.content }, finish_reason: null }];
      return { kind: 'chunk', chunk: { ...transcript.head, choices } };
    },
  };
}

/** Only an answer of one choice is carried on. */
function isTheChoice(choice: unknown): choice is Chunk {
  return isObject(choice) && (choice['index'] ?? 0) === 0;
}

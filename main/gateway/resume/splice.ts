import { isObject } from '#shared/objects.ts';
import { isHeavyJson } from '../../platform/json-weight.ts';
import { errorMessage, parseJson } from '../response/answer.ts';
import { dataOf, eventsOf, framesOf, isNamedError, type Frames } from '../response/sse-frames.ts';
import {
  createChunkSplice,
  type Chunk,
  type ChunkSplice,
  type SplicePlan,
} from './chunk-splice.ts';
import { withData } from './event-writing.ts';
import type { Transcript } from './transcript.ts';

/** What of the second stream goes on to the caller. */
export type Spliced =
  | { readonly kind: 'frames'; readonly frames: Frames | null }
  /** It is another answer than the one that was begun; nothing of it may go on. */
  | { readonly kind: 'diverged'; readonly detail: string };

/** Makes the events of a second stream the rest of the first. */
export interface Splice {
  push(frames: Frames): Spliced;
}

/**
 * Makes a splice after what `transcript` has. Comments, errors and `[DONE]` pass as they come: whoever
 * relays the stream watches what comes out of here.
 */
export function createSplice(transcript: Transcript, plan: SplicePlan): Splice {
  const chunks = createChunkSplice(transcript, plan);
  let diverged: Spliced | null = null;
  return {
    push(frames) {
      const out: Buffer[] = [];
      for (const event of eventsOf(frames)) {
        if (diverged !== null) return diverged;
        const spliced = spliceEvent(event, chunks);
        if (typeof spliced === 'string') diverged = { kind: 'diverged', detail: spliced };
        else out.push(...spliced);
      }
      return diverged ?? { kind: 'frames', frames: out.length === 0 ? null : framesOf(out) };
    },
  };
}

/** The events that stand for one of the second stream's, or how it differs. */
function spliceEvent(event: Buffer, chunks: ChunkSplice): readonly Buffer[] | string {
  const data = dataOf(event)?.trim() ?? '';
  if (data === '' || isNamedError(event)) return [event];
  if (data === '[DONE]') return spliceEnd(event, chunks);
  const chunk = parseJson(data);
  // Whoever relays the stream drops what cannot be read; what is missing then shows in the text.
  if (!isObject(chunk))
    return isHeavyJson(data) ? 'the new answer has an event of too many values' : [];
  if (errorMessage(chunk) !== null) return [event];
  const spliced = chunks.take(chunk);
  return spliced.kind === 'diverged' ? spliced.detail : written(event, spliced.chunk);
}

function spliceEnd(event: Buffer, chunks: ChunkSplice): readonly Buffer[] | string {
  const spliced = chunks.end();
  if (spliced.kind === 'diverged') return spliced.detail;
  const last = written(Buffer.alloc(0), spliced.chunk);
  return typeof last === 'string' ? last : [...last, event];
}

function written(event: Buffer, chunk: Chunk | null): readonly Buffer[] | string {
  if (chunk === null) return [];
  const bytes = withData(event, chunk);
  return bytes === null ? 'the new answer is nested too deep' : [bytes];
}

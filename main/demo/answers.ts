import type { ServerResponse } from 'node:http';
import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { DemoFault } from '#shared/live.ts';
import { isObject } from '#shared/objects.ts';
import { parseJson } from '../platform/json.ts';

const BREAK_AFTER_WORDS = 12;

/** How a demo engine formats its answer in one protocol. */
export interface DemoStream {
  readonly whole: (text: string) => object;
  /** Events before the first word. */
  readonly begin: () => string;
  readonly word: (word: string, isFirst: boolean) => string;
  readonly end: (text: string) => string;
}

interface StreamPlan {
  readonly stream: DemoStream;
  /** The partial answer to continue; empty for a whole answer. */
  readonly partial: string;
  readonly delayMs: number;
  readonly wordMs: number;
  readonly fault: DemoFault;
}

/** Streams the answer, or the rest of a partial one, word by word; `cut` and `stall` break it. */
export function streamAnswer(
  res: ServerResponse,
  id: UpstreamId,
  { stream, partial, delayMs, wordMs, fault }: StreamPlan,
): void {
  const text = restOfAnswer(id, partial);
  const words = text.split(/(?<= )/);
  let next = 0;
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  res.flushHeaders();

  function step(): void {
    if (res.destroyed) return;
    const word = words[next];
    if (next === BREAK_AFTER_WORDS && fault === 'stall') return;
    if (next === BREAK_AFTER_WORDS && fault === 'cut') {
      res.destroy();
    } else if (word === undefined) {
      res.end(stream.end(text));
    } else {
      res.write((next === 0 ? stream.begin() : '') + stream.word(word, next === 0));
      next += 1;
      setTimeout(step, wordMs);
    }
  }
  setTimeout(step, delayMs);
}

/** Says that it is canned, so that nobody takes it for a model's answer. */
export function cannedAnswer(id: UpstreamId): string {
  return (
    `This is canned text from the demo upstream "${id}": no model ran. ` +
    'It came through the same router, breaker counts and relay that a real engine would. ' +
    'Break this upstream in the window, or type "break ' +
    id +
    '" where the demo runs, and ask again to watch another one take over.'
  );
}

/** The rest of a partial answer of any demo upstream; for any other text the complete answer of `id`. */
export function restOfAnswer(id: UpstreamId, partial: string): string {
  const answers = [id, ...UPSTREAM_IDS].map(cannedAnswer);
  const match = answers.find((answer) => answer.startsWith(partial));
  return match === undefined ? cannedAnswer(id) : match.slice(partial.length);
}

/** The same for all demo upstreams, because only the same model continues an interrupted answer. */
export const DEMO_MODEL = 'demo-model';

interface DemoChat {
  readonly stream: boolean;
  /** The partial answer to continue, as with vLLM's `continue_final_message`; empty for a new answer. */
  readonly partial: string;
}

export function readChat(text: string): DemoChat {
  const body = parseJson(text);
  if (!isObject(body)) return { stream: false, partial: '' };
  const { stream, continue_final_message: continues, messages } = body;
  return { stream: stream === true, partial: continues === true ? lastAnswer(messages) : '' };
}

function lastAnswer(messages: unknown): string {
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined;
  if (!isObject(last) || last['role'] !== 'assistant') return '';
  return typeof last['content'] === 'string' ? last['content'] : '';
}

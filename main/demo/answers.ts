import type { ServerResponse } from 'node:http';
import type { UpstreamId } from '#shared/ids.ts';
import type { DemoFault } from '#shared/live.ts';
import { cannedAnswer, DEMO_MODEL, restOfAnswer } from './text.ts';

/** About 25 words a second, the pace of a mid-sized model on one card. */
const WORD_MS = 40;
/** Where a stream is cut or stalls: some way into the answer. */
const BREAK_AFTER_WORDS = 12;

/** How a stream is to be. */
interface StreamPlan {
  /** What was said already; empty for a whole answer. */
  readonly begun: string;
  readonly delayMs: number;
  readonly fault: DemoFault;
}

/** The answer as one JSON object. */
export function wholeAnswer(id: UpstreamId): object {
  const message = { role: 'assistant', content: cannedAnswer(id) };
  return {
    ...common(),
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: usage(cannedAnswer(id)),
  };
}

/** The answer as a stream, word by word, or what is missing of a begun one; `cut` and `stall` break it on the way. */
export function streamAnswer(
  res: ServerResponse,
  id: UpstreamId,
  { begun, delayMs, fault }: StreamPlan,
): void {
  const text = restOfAnswer(id, begun);
  const words = text.split(/(?<= )/);
  let next = 0;
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  res.flushHeaders();
  const send = (delta: object, finishReason: string | null = null, more: object = {}) =>
    res.write(
      `data: ${JSON.stringify({
        ...common(),
        object: 'chat.completion.chunk',
        choices: [{ index: 0, delta, finish_reason: finishReason }],
        ...more,
      })}\n\n`,
    );

  function step(): void {
    if (res.destroyed) return;
    const word = words[next];
    if (next === BREAK_AFTER_WORDS && fault === 'stall') return;
    if (next === BREAK_AFTER_WORDS && fault === 'cut') {
      res.destroy();
    } else if (word === undefined) {
      send({}, 'stop', { usage: usage(text) });
      res.end('data: [DONE]\n\n');
    } else {
      send(next === 0 ? { role: 'assistant', content: word } : { content: word });
      next += 1;
      setTimeout(step, WORD_MS);
    }
  }
  setTimeout(step, delayMs);
}

function common(): object {
  return { id: 'chatcmpl-demo', created: Math.floor(Date.now() / 1000), model: DEMO_MODEL };
}

/** One token a word: the demo has no tokenizer. */
function usage(text: string): object {
  const words = text.split(' ').length;
  return { prompt_tokens: 1, completion_tokens: words, total_tokens: words + 1 };
}

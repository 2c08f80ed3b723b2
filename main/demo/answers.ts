import type { ServerResponse } from 'node:http';
import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { DemoFault } from '#shared/live.ts';
import { isObject } from '#shared/objects.ts';
import { listOf, parseJson } from '../platform/json.ts';

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
    'Break this upstream in the dashboard, or type "break ' +
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

export interface DemoBody {
  readonly type: string;
  readonly bytes: Buffer;
}

/** The answer of a demo engine on a path without streams; null for an unknown path. */
export function demoBody(path: string, request: Buffer, id: UpstreamId): DemoBody | null {
  switch (path.replace(/^.*\/v1/, '')) {
    case '/embeddings':
      return json({ object: 'list', model: DEMO_MODEL, data: vectors(fieldsOf(request)['input']) });
    case '/rerank':
      return json({ model: DEMO_MODEL, results: ranks(fieldsOf(request)['documents']) });
    case '/messages/count_tokens':
      return json({ input_tokens: request.toString().split(/\s+/).length });
    case '/audio/transcriptions':
      return json({ text: cannedAnswer(id) });
    case '/audio/speech':
      return { type: 'audio/wav', bytes: tone() };
    default:
      return null;
  }
}

const json = (value: object): DemoBody => ({
  type: 'application/json',
  bytes: Buffer.from(JSON.stringify(value)),
});

function fieldsOf(request: Buffer): Readonly<Record<string, unknown>> {
  const body = parseJson(request.toString());
  return isObject(body) ? body : {};
}

/** Eight numbers that depend only on the text. */
function vectors(input: unknown): object[] {
  const texts = Array.isArray(input) ? (input as readonly unknown[]) : [input];
  return texts.map((text, index) => {
    const bytes = Buffer.from(JSON.stringify(text) ?? '');
    const embedding = Array.from({ length: 8 }, (_, at) => ((bytes[at] ?? 0) - 64) / 128);
    return { object: 'embedding', index, embedding };
  });
}

function ranks(documents: unknown): object[] {
  return listOf(documents).map((_, index) => ({ index, relevance_score: 1 / (index + 1) }));
}

const SAMPLE_RATE = 8000;
const HEAD_BYTES = 44;

/** One second of 440 Hz, as a WAV file of 8-bit samples. */
function tone(): Buffer {
  const wav = Buffer.alloc(HEAD_BYTES + SAMPLE_RATE);
  wav.write('RIFF', 0);
  wav.writeUInt32LE(wav.length - 8, 4);
  wav.write('WAVEfmt ', 8);
  wav.writeUInt32LE(16, 16);
  wav.writeUInt16LE(1, 20);
  wav.writeUInt16LE(1, 22);
  wav.writeUInt32LE(SAMPLE_RATE, 24);
  wav.writeUInt32LE(SAMPLE_RATE, 28);
  wav.writeUInt16LE(1, 32);
  wav.writeUInt16LE(8, 34);
  wav.write('data', 36);
  wav.writeUInt32LE(SAMPLE_RATE, 40);
  for (let at = 0; at < SAMPLE_RATE; at += 1) {
    wav[HEAD_BYTES + at] = 128 + Math.round(90 * Math.sin((at * 440 * 2 * Math.PI) / SAMPLE_RATE));
  }
  return wav;
}

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { type UpstreamId, UPSTREAM_IDS } from '#shared/ids.ts';
import type { DemoFault } from '#shared/live.ts';
import { isObject, listOf, parseJson } from '../platform/json.ts';

/** An engine with canned answers on a loopback socket, which can be broken and healed. */
export type DemoEngine = ReturnType<typeof createDemoEngine>;

interface DemoTraits {
  /** It starts slowly after a time without requests. */
  readonly isCold?: boolean;
  readonly pace?: DemoPace;
}

export function createDemoEngine(id: UpstreamId, { isCold = false, pace = PACE }: DemoTraits = {}) {
  const coldStart = createColdStart(isCold ? pace.coldStartMs : 0);
  let fault: DemoFault = 'none';
  let server: Server | null = null;
  let port = 0;

  async function listen(): Promise<void> {
    server = createServer((req, res) => answer(req, res)).listen({ host: '127.0.0.1', port });
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
  }

  async function close(): Promise<void> {
    server?.closeAllConnections();
    await server?.[Symbol.asyncDispose]();
    server = null;
  }

  function answer(req: IncomingMessage, res: ServerResponse): void {
    if (!coldStart.isUp()) sendJson(res, 503, error('Loading model'));
    else if (fault === '429') sendJson(res, 429, error('Rate limit'), { 'retry-after': '20' });
    else if (fault === '500') sendJson(res, 500, error('The demo engine is set to fail'));
    else if (req.url === '/health') sendJson(res, 200, { status: 'ok' });
    else if (req.url?.endsWith('/models')) {
      sendJson(res, 200, { object: 'list', data: [{ id: DEMO_MODEL, object: 'model' }] });
    } else void post(req, res);
  }

  async function post(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const body = await buffer(req);
    const path = req.url ?? '';
    const delayMs = fault === 'slow' ? pace.slowMs : 0;
    const stream = streamFor(path, body);
    if (stream === null) {
      const whole = demoBody(path, body, id);
      if (whole === null) sendJson(res, 404, error('Not Found'));
      else setTimeout(() => send(res, whole), delayMs);
      return;
    }
    const chat = readChat(body.toString());
    if (chat.stream)
      streamAnswer(res, id, { stream, partial: chat.partial, delayMs, wordMs: pace.wordMs, fault });
    else setTimeout(() => sendJson(res, 200, stream.whole(cannedAnswer(id))), delayMs);
  }

  return {
    id,
    start: listen,
    stop: close,
    /** Such as `http://127.0.0.1:40123`; the same while the engine refuses connections. */
    url: () => `http://127.0.0.1:${port}`,
    fault: () => fault,
    async setFault(next: DemoFault) {
      const wasRefusing = fault === 'refuse';
      fault = next;
      if (next === 'refuse') await close();
      else if (wasRefusing) await listen();
    },
  };
}

function send(res: ServerResponse, { type, bytes }: DemoBody): void {
  res.writeHead(200, { 'content-type': type }).end(bytes);
}

function sendJson(
  res: ServerResponse,
  status: number,
  value: unknown,
  headers: Record<string, string> = {},
): void {
  res.req.resume();
  res.writeHead(status, { 'content-type': 'application/json', ...headers });
  res.end(JSON.stringify(value));
}

function error(text: string): object {
  return { error: { message: text, type: 'demo', code: null, param: null } };
}

const SLEEP_AFTER_MS = 120_000;

/** Imitates an engine that is switched off while unused and starts slowly; one that takes no time is always up. */
function createColdStart(startMs: number) {
  let startedAt: number | null = null;
  let calledAt = 0;
  return {
    /** Whether the engine is up; if not, the call starts it. */
    isUp() {
      const now = performance.now();
      if (startedAt === null || now - calledAt > SLEEP_AFTER_MS) startedAt = now;
      calledAt = now;
      return now - startedAt >= startMs;
    },
  };
}

/** About what texts have; an engine that reported fewer tokens than a prompt must have would seem to cut it. */
const BYTES_PER_TOKEN = 3;

/** Null for a path without streams. The Responses and Messages APIs are missing: the gateway translates both. */
function streamFor(path: string, request: Buffer): DemoStream | null {
  if (path.endsWith('/chat/completions')) return chatStream(request);
  return path.endsWith('/completions') ? COMPLETIONS : null;
}

const DONE = 'data: [DONE]\n\n';
const data = (value: object) => `data: ${JSON.stringify(value)}\n\n`;

function common(): object {
  return { id: 'chatcmpl-demo', created: Math.floor(Date.now() / 1000), model: DEMO_MODEL };
}

/** The demo has no tokenizer, so a word of an answer counts as a token. */
function chatStream(request: Buffer): DemoStream {
  const prompt = Math.ceil(request.length / BYTES_PER_TOKEN);
  const usage = (text: string) => {
    const words = text.split(' ').length;
    return { prompt_tokens: prompt, completion_tokens: words, total_tokens: words + prompt };
  };
  const chunk = (delta: object, finishReason: string | null, more: object = {}) => {
    const choices = [{ index: 0, delta, finish_reason: finishReason }];
    return data({ ...common(), object: 'chat.completion.chunk', choices, ...more });
  };
  return {
    whole(text) {
      const message = { role: 'assistant', content: text };
      const choices = [{ index: 0, message, finish_reason: 'stop' }];
      return { ...common(), object: 'chat.completion', choices, usage: usage(text) };
    },
    word: (content, isFirst) => chunk(isFirst ? { role: 'assistant', content } : { content }, null),
    end: (text) => chunk({}, 'stop', { usage: usage(text) }) + DONE,
  };
}

function completion(text: string, finishReason: string | null): object {
  const choices = [{ index: 0, text, logprobs: null, finish_reason: finishReason }];
  return { ...common(), object: 'text_completion', choices };
}

const COMPLETIONS: DemoStream = {
  whole: (text) => completion(text, 'stop'),
  word: (word) => data(completion(word, null)),
  end: () => data(completion('', 'stop')) + DONE,
};

/** The speed of the demo's engines, and the timeouts of its gateway. */
export interface DemoPace {
  readonly wordMs: number;
  /** How long an engine with the fault `slow` waits before it answers. */
  readonly slowMs: number;
  /** From the first call to a cold engine until it is up. */
  readonly coldStartMs: number;
  readonly slowAfterMs: number;
  readonly idleTimeoutMs: number;
}

export const PACE: DemoPace = {
  // About 25 words a second, the pace of a mid-sized model on one card.
  wordMs: 40,
  // Shorter than all timeouts.
  slowMs: 7000,
  coldStartMs: 12_000,
  // Well below `slowMs`.
  slowAfterMs: 2000,
  // The default of 30 s suits engines, but is too long for a person watching a stall.
  idleTimeoutMs: 8000,
};

const BREAK_AFTER_WORDS = 12;

/** How a demo engine formats its answer in one protocol. */
interface DemoStream {
  readonly whole: (text: string) => object;
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
function streamAnswer(
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
      res.write(stream.word(word, next === 0));
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

interface DemoBody {
  readonly type: string;
  readonly bytes: Buffer;
}

/** The answer of a demo engine on a path without streams; null for an unknown path. */
function demoBody(path: string, request: Buffer, id: UpstreamId): DemoBody | null {
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

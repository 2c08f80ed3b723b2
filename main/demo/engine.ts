import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { UpstreamId } from '#shared/ids.ts';
import type { DemoFault } from '#shared/live.ts';
import { ByteBuffer } from '../platform/byte-buffer.ts';
import {
  cannedAnswer,
  DEMO_MODEL,
  demoBody,
  type DemoBody,
  type DemoStream,
  readChat,
  streamAnswer,
} from './answers.ts';

/** An engine with canned answers on a loopback socket, which can be broken and healed. */
export type DemoEngine = ReturnType<typeof createDemoEngine>;

export interface DemoTraits {
  /** It starts slowly after a time without requests. */
  readonly isCold?: boolean;
  /** Has neither the Responses nor the Messages API. */
  readonly speaksChatOnly?: boolean;
  readonly pace?: DemoPace;
}

export function createDemoEngine(
  id: UpstreamId,
  { isCold = false, speaksChatOnly = false, pace = PACE }: DemoTraits = {},
) {
  const coldStart = createColdStart(isCold ? pace.coldStartMs : 0);
  let fault: DemoFault = 'none';
  let server: Server | null = null;
  let port = 0;

  function listen(): Promise<void> {
    const next = createServer((req, res) => answer(req, res));
    server = next;
    return new Promise((resolve, reject) => {
      next.once('error', reject);
      next.listen({ host: '127.0.0.1', port }, () => {
        ({ port } = next.address() as AddressInfo);
        resolve();
      });
    });
  }

  function close(): Promise<void> {
    const current = server;
    server = null;
    return new Promise((resolve) => {
      if (current === null) resolve();
      else {
        current.close(() => resolve());
        current.closeAllConnections();
      }
    });
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
    const gathered = new ByteBuffer();
    for await (const part of req) gathered.add(part as Buffer);
    const body = gathered.take();
    const path = req.url ?? '';
    const delayMs = fault === 'slow' ? pace.slowMs : 0;
    if (speaksChatOnly && /\/(responses|messages|count_tokens)$/.test(path)) {
      sendJson(res, 404, error('Not Found'));
      return;
    }
    const stream = streamsFor(body).find(([end]) => path.endsWith(end))?.[1];
    if (stream === undefined) {
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

/** By the end of the path. The demo has no tokenizer, so a word of an answer counts as a token. */
function streamsFor(request: Buffer): readonly (readonly [path: string, stream: DemoStream])[] {
  const prompt = Math.ceil(request.length / BYTES_PER_TOKEN);
  const chat: DemoStream = {
    whole: (text) => wholeChat(text, prompt),
    begin: () => '',
    word: chatWord,
    end: (text) => chatEnd(text, prompt),
  };
  return [['/chat/completions', chat], ...OTHER_STREAMS];
}

const OTHER_STREAMS: readonly (readonly [path: string, stream: DemoStream])[] = [
  [
    '/completions',
    {
      whole: (text) => completion(text, 'stop'),
      begin: () => '',
      word: (word) => data(completion(word, null)),
      end: () => data(completion('', 'stop')) + DONE,
    },
  ],
  [
    '/responses',
    {
      whole: (text) => response('completed', text),
      begin: responseBegin,
      word: (word) => typed('response.output_text.delta', { ...PART_AT, delta: word }),
      end: responseEnd,
    },
  ],
  [
    '/messages',
    {
      whole: (text) => message([{ type: 'text', text }], 'end_turn', text),
      begin: messageBegin,
      word: (word) =>
        typed('content_block_delta', { index: 0, delta: { type: 'text_delta', text: word } }),
      end: messageEnd,
    },
  ],
];

const DONE = 'data: [DONE]\n\n';
const data = (value: object) => `data: ${JSON.stringify(value)}\n\n`;
const typed = (type: string, value: object) => `event: ${type}\n${data({ type, ...value })}`;
const countOf = (text: string) => text.split(' ').length;
const nowSeconds = () => Math.floor(Date.now() / 1000);

function common(): object {
  return { id: 'chatcmpl-demo', created: nowSeconds(), model: DEMO_MODEL };
}

function chatUsage(text: string, prompt: number): object {
  const words = countOf(text);
  return { prompt_tokens: prompt, completion_tokens: words, total_tokens: words + prompt };
}

function wholeChat(text: string, prompt: number): object {
  const choice = { index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' };
  return {
    ...common(),
    object: 'chat.completion',
    choices: [choice],
    usage: chatUsage(text, prompt),
  };
}

function chatChunk(delta: object, finishReason: string | null, more: object = {}): string {
  const choices = [{ index: 0, delta, finish_reason: finishReason }];
  return data({ ...common(), object: 'chat.completion.chunk', choices, ...more });
}

function chatWord(word: string, isFirst: boolean): string {
  return chatChunk(isFirst ? { role: 'assistant', content: word } : { content: word }, null);
}

function chatEnd(text: string, prompt: number): string {
  return chatChunk({}, 'stop', { usage: chatUsage(text, prompt) }) + DONE;
}

function completion(text: string, finishReason: string | null): object {
  const choices = [{ index: 0, text, logprobs: null, finish_reason: finishReason }];
  return { ...common(), object: 'text_completion', choices };
}

const PART_AT = { item_id: 'msg_demo', output_index: 0, content_index: 0, sequence_number: 0 };

function item(text: string): object {
  const content = [{ type: 'output_text', text, annotations: [] }];
  return { id: 'msg_demo', type: 'message', role: 'assistant', status: 'completed', content };
}

function response(status: string, text: string | null): object {
  return {
    id: 'resp_demo',
    object: 'response',
    created_at: nowSeconds(),
    model: DEMO_MODEL,
    status,
    error: null,
    output: text === null ? [] : [item(text)],
    usage: text === null ? null : { input_tokens: 1, output_tokens: countOf(text) },
  };
}

function responseBegin(): string {
  return (
    typed('response.created', { response: response('in_progress', null), sequence_number: 0 }) +
    typed('response.output_item.added', {
      ...PART_AT,
      item: { ...item(''), status: 'in_progress', content: [] },
    }) +
    typed('response.content_part.added', {
      ...PART_AT,
      part: { type: 'output_text', text: '', annotations: [] },
    })
  );
}

function responseEnd(text: string): string {
  return (
    typed('response.output_text.done', { ...PART_AT, text }) +
    typed('response.output_item.done', { ...PART_AT, item: item(text) }) +
    typed('response.completed', { response: response('completed', text), sequence_number: 0 })
  );
}

function message(content: readonly object[], stopReason: string | null, text: string): object {
  return {
    id: 'msg_demo',
    type: 'message',
    role: 'assistant',
    model: DEMO_MODEL,
    content,
    stop_reason: stopReason,
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: countOf(text) },
  };
}

function messageBegin(): string {
  return (
    typed('message_start', { message: message([], null, '') }) +
    typed('content_block_start', { index: 0, content_block: { type: 'text', text: '' } })
  );
}

function messageEnd(text: string): string {
  const usage = { output_tokens: countOf(text) };
  return (
    typed('content_block_stop', { index: 0 }) +
    typed('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage }) +
    typed('message_stop', {})
  );
}

/** The speed of the demo's engines, and the timeouts of its gateway. */
export interface DemoPace {
  readonly wordMs: number;
  /** How long an engine with the fault `slow` waits before it answers. */
  readonly slowMs: number;
  /** From the first call to a cold engine until it is up. */
  readonly coldStartMs: number;
  readonly hedgeMs: number;
  readonly idleTimeoutMs: number;
}

export const PACE: DemoPace = {
  // About 25 words a second, the pace of a mid-sized model on one card.
  wordMs: 40,
  // Longer than the default hedge delay of 5 s, shorter than all timeouts.
  slowMs: 7000,
  coldStartMs: 12_000,
  // Well below `slowMs`.
  hedgeMs: 2000,
  // The default of 30 s suits engines, but is too long for a person watching a stall.
  idleTimeoutMs: 8000,
};

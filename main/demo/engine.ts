import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { type UpstreamId, UPSTREAM_IDS } from '#shared/ids.ts';
import type { DemoFault } from '#shared/live.ts';
import { isObject, listOf, memberOf, parseJson } from '../platform/json.ts';

/** The speed of the demo's engines, and the timeouts of its gateway. */
export const PACE = {
  // About 25 words a second, the pace of a mid-sized model on one card.
  wordMs: 40,
  // How long an engine with the fault `slow` waits: shorter than all timeouts.
  slowMs: 7000,
  // Well below `slowMs`.
  slowAfterMs: 2000,
  // The default of 30 s suits engines, but is too long for a person watching a stall.
  idleTimeoutMs: 8000,
};
export type DemoPace = Readonly<typeof PACE>;

/** The same for all demo upstreams, because only the same model continues an interrupted answer. */
export const DEMO_MODEL = 'demo-model';

const BREAK_AFTER_WORDS = 12;
/** About what texts have; an engine that reported fewer tokens than a prompt must have would seem to cut it. */
const BYTES_PER_TOKEN = 3;

export type DemoEngine = ReturnType<typeof createDemoEngine>;

/**
 * An engine with canned chat completions on a loopback socket, which can be broken and healed. It always streams: the
 * gateway assembles whole answers, and translates other protocols.
 */
export function createDemoEngine(id: UpstreamId, pace: DemoPace) {
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
    if (fault === '429') sendJson(res, 429, error('Rate limit'), { 'retry-after': '20' });
    else if (fault === '500') sendJson(res, 500, error('The demo engine is set to fail'));
    else if (req.url === '/health') sendJson(res, 200, { status: 'ok' });
    else if (req.url?.endsWith('/models'))
      sendJson(res, 200, { object: 'list', data: [{ id: DEMO_MODEL, object: 'model' }] });
    else if (req.url?.endsWith('/chat/completions')) void complete(req, res);
    else sendJson(res, 404, error('Not Found'));
  }

  async function complete(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const body = await buffer(req);
    const words = restOfAnswer(id, partialIn(parseJson(body.toString()))).split(/(?<= )/);
    // The demo has no tokenizer, so a word of an answer counts as a token.
    const [prompt, completion] = [Math.ceil(body.length / BYTES_PER_TOKEN), words.length];
    const total = prompt + completion;
    const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total };
    await sleep(fault === 'slow' ? pace.slowMs : 0);
    const head = { id: 'chatcmpl-demo', created: Math.floor(Date.now() / 1000), model: DEMO_MODEL };
    const chunk = (delta: object, finish_reason: string | null, more: object = {}) => {
      const choices = [{ index: 0, delta, finish_reason }];
      const value = { ...head, object: 'chat.completion.chunk', choices, ...more };
      return `data: ${JSON.stringify(value)}\n\n`;
    };
    res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    for (const [at, content] of words.entries()) {
      if (at === BREAK_AFTER_WORDS && fault === 'stall') return;
      if (at === BREAK_AFTER_WORDS && fault === 'cut') res.destroy();
      if (res.destroyed) return;
      res.write(chunk(at === 0 ? { role: 'assistant', content } : { content }, null));
      await sleep(pace.wordMs);
    }
    res.end(`${chunk({}, 'stop', { usage })}data: [DONE]\n\n`);
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

function sendJson(res: ServerResponse, status: number, value: unknown, more = {}): void {
  res.req.resume();
  res.writeHead(status, { 'content-type': 'application/json', ...more });
  res.end(JSON.stringify(value));
}

const error = (text: string) => ({ error: { message: text, type: 'demo', code: null } });

/** Says that it is canned, so that nobody takes it for a model's answer. */
export function cannedAnswer(id: UpstreamId): string {
  return (
    `This is canned text from the demo upstream "${id}": no model ran. ` +
    'It came through the same router, breaker counts and relay that a real engine would. ' +
    'Break this upstream in the dashboard, and ask again to watch another one take over.'
  );
}

/** The rest of a partial answer of any demo upstream; for any other text the complete answer of `id`. */
export function restOfAnswer(id: UpstreamId, partial: string): string {
  const answers = [id, ...UPSTREAM_IDS].map(cannedAnswer);
  const match = answers.find((answer) => answer.startsWith(partial));
  return match === undefined ? cannedAnswer(id) : match.slice(partial.length);
}

/** The partial answer to continue, as with vLLM's `continue_final_message`; empty for a new answer. */
export function partialIn(request: unknown): string {
  if (memberOf(request, 'continue_final_message') !== true) return '';
  const last = listOf(memberOf(request, 'messages')).at(-1);
  if (!isObject(last) || last['role'] !== 'assistant') return '';
  return typeof last['content'] === 'string' ? last['content'] : '';
}

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DemoFault } from '#shared/live.ts';
import { listOf, memberOf, parseJson } from '../platform/json.ts';

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

const CHUNK = { id: 'chatcmpl-demo', object: 'chat.completion.chunk', model: DEMO_MODEL };
const BREAK_AFTER_WORDS = 12;
/** About what texts have; an engine that reported fewer tokens than a prompt must have would seem to cut it. */
const BYTES_PER_TOKEN = 3;

export type DemoEngine = ReturnType<typeof createDemoEngine>;

/**
 * An engine with canned chat completions on a loopback socket, which can be broken and healed. It always streams: the
 * gateway assembles whole answers, and translates other protocols.
 */
export function createDemoEngine(pace: DemoPace) {
  let fault: DemoFault = 'none';
  let server: Server | null = null;
  let port = 0;

  async function listen(): Promise<void> {
    server = createServer(answer).listen({ host: '127.0.0.1', port });
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
  }

  async function close(): Promise<void> {
    server?.closeAllConnections();
    await server?.[Symbol.asyncDispose]();
    server = null;
  }

  function answer(req: IncomingMessage, res: ServerResponse): void {
    if (fault === '429') sendJson(res, 429, { error: 'Rate limit' }, { 'retry-after': '20' });
    else if (fault === '500') sendJson(res, 500, { error: 'The demo engine is set to fail' });
    else if (req.url === '/health') sendJson(res, 200, { status: 'ok' });
    else if (req.url?.endsWith('/models'))
      sendJson(res, 200, { object: 'list', data: [{ id: DEMO_MODEL, object: 'model' }] });
    else if (req.url?.endsWith('/chat/completions')) void complete(req, res);
    else sendJson(res, 404, { error: 'Not Found' });
  }

  async function complete(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const body = await buffer(req);
    const words = answerTo(parseJson(body.toString())).split(/(?<= )/);
    // The demo has no tokenizer, so a word of an answer counts as a token.
    const prompt = Math.ceil(body.length / BYTES_PER_TOKEN);
    const usage = { prompt_tokens: prompt, completion_tokens: words.length };
    await sleep(fault === 'slow' ? pace.slowMs : 0);
    const chunk = (delta: object, finish_reason: string | null, more: object = {}) =>
      `data: ${JSON.stringify({ ...CHUNK, choices: [{ index: 0, delta, finish_reason }], ...more })}\n\n`;
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
    start: listen,
    stop: close,
    /** Such as `http://127.0.0.1:40123`; the same while the engine refuses connections. */
    url: () => `http://127.0.0.1:${port}`,
    fault: () => fault,
    async setFault(next: DemoFault) {
      fault = next;
      if (next === 'refuse') await close();
      else if (server === null) await listen();
    },
  };
}

function sendJson(res: ServerResponse, status: number, value: unknown, more = {}): void {
  res.req.resume();
  res.writeHead(status, { 'content-type': 'application/json', ...more });
  res.end(JSON.stringify(value));
}

/** The text of every answer; it says that it is canned, so that nobody takes it for a model's. */
const ANSWER =
  'This is canned text from a demo upstream: no model ran. ' +
  'It came through the same router, breaker counts and relay that a real engine would. ' +
  'Break this source in the dashboard, and ask again to watch another one take over.';

/** What follows the partial answer that a request ends with, as with vLLM's `continue_final_message`. */
function answerTo(request: unknown): string {
  const last = listOf(memberOf(request, 'messages')).at(-1);
  const partial = memberOf(last, 'role') === 'assistant' ? String(memberOf(last, 'content')) : '';
  return ANSWER.startsWith(partial) ? ANSWER.slice(partial.length) : ANSWER;
}

import { type Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { expect } from 'vitest';
import { createLooks, untilSo } from './looks.ts';

/** An answer as it came over the wire. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly text: string;
  /** `X-Gateway-Upstream`. */
  readonly upstream: string;
  /** `X-Gateway-Fallback-Reason`. */
  readonly reason: string;
}

/** A request whose answer is still coming. */
export interface Pending {
  /** Resolves with the head. */
  readonly head: Promise<IncomingMessage>;
  /** Resolves with the first bytes of the body. */
  readonly firstBytes: Promise<string>;
  /** Resolves when the body so far holds `text`. */
  received(text: string): Promise<void>;
  readonly answer: Promise<Answer>;
  /** Goes away without a word, as a closed program does. */
  leave(): void;
}

export const CHAT = '/v1/chat/completions';

/** The smallest chat completion. */
export const HELLO = { messages: [{ role: 'user', content: 'hi' }] };

/** Sends a chat completion; a string or buffer goes out as it is. */
export function startChat(
  url: string,
  body: unknown = HELLO,
  headers: Record<string, string> = {},
): Pending {
  return startCall(url + CHAT, body, headers);
}

/** Sends a request to an endpoint. */
export function startCall(
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
  agent: Agent | false = false,
): Pending {
  const bytes =
    typeof body === 'string' || Buffer.isBuffer(body)
      ? Buffer.from(body)
      : Buffer.from(JSON.stringify(body));
  const req = request(url, {
    method: 'POST',
    agent,
    headers: { 'content-type': 'application/json', 'content-length': bytes.length, ...headers },
  });
  const head = new Promise<IncomingMessage>((resolve, reject) => {
    req.on('response', resolve);
    req.on('error', reject);
  });
  let sawBytes: (text: string) => void = () => {};
  const firstBytes = new Promise<string>((resolve) => (sawBytes = resolve));
  let soFar = '';
  const looks = createLooks();
  const answer = head.then(async (res) => {
    const parts: Buffer[] = [];
    res.on('data', (part: Buffer) => {
      sawBytes(part.toString());
      soFar += part.toString('latin1');
      looks.look();
    });
    for await (const part of res) parts.push(part as Buffer);
    return toAnswer(res, Buffer.concat(parts));
  });
  // A caller that leaves has no use for either.
  head.catch(() => {});
  answer.catch(() => {});
  req.end(bytes);
  const received = (text: string) => untilSo(looks, () => soFar.includes(text));
  return { head, firstBytes, received, answer, leave: () => req.destroy() };
}

function toAnswer(res: IncomingMessage, body: Buffer): Answer {
  return {
    status: res.statusCode ?? 0,
    headers: res.headers,
    body,
    text: body.toString(),
    upstream: String(res.headers['x-gateway-upstream']),
    reason: String(res.headers['x-gateway-fallback-reason']),
  };
}

/** Sends a chat completion and waits for the whole answer. */
export function chat(
  url: string,
  body?: unknown,
  headers?: Record<string, string>,
): Promise<Answer> {
  return startChat(url, body, headers).answer;
}

/** A streamed one. */
export function chatStream(url: string, more: Record<string, unknown> = {}): Promise<Answer> {
  return chat(url, { ...HELLO, stream: true, ...more });
}

/** The text that a stream's events carry, for comparing across framings. */
export function textOf(stream: string): string {
  return stream
    .split(/\r\n\r\n|\n\n/)
    .map((event) => event.replace(/^data: ?/gm, ''))
    .filter((data) => data.startsWith('{'))
    .map(
      (data) =>
        (JSON.parse(data) as { choices?: { delta?: { content?: string } }[] }).choices?.[0]?.delta
          ?.content ?? '',
    )
    .join('');
}

/** What a promise rejects with; null if it resolves. */
export const rejectionOf = (promise: PromiseLike<unknown>): PromiseLike<unknown> =>
  promise.then(
    () => null,
    (reason: unknown) => reason,
  );

/** Holds that an upstream has answered, and what those that were asked before it said (`none`: nobody was). */
export function expectServed(answer: Answer, upstream: string, reason = 'none'): void {
  expect(answer).toMatchObject({ status: 200, upstream, reason });
}

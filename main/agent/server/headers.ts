import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { BodyShare } from '../../platform/body-budget.ts';
import { ByteBuffer } from '../../platform/byte-buffer.ts';
import type { ResponseHeaders } from '../../platform/http/types.ts';
import { memberOf, parseJson } from '../../platform/json.ts';

/** Headers of the caller that go on to the engine: no cookie, no key of ours, nothing of a browser. */
const TO_ENGINE = new Set(['accept', 'user-agent', 'traceparent', 'tracestate', 'x-request-id']);
const TO_ENGINE_PREFIXES = ['openai-', 'x-stainless-'];

/** Headers of the engine that go back; the length keeps a cut answer from looking whole. */
const TO_CALLER = new Set([
  'content-type',
  'content-length',
  'content-encoding',
  'x-request-id',
  'request-id',
  'retry-after',
  'retry-after-ms',
]);
const TO_CALLER_PREFIXES = ['x-ratelimit-', 'openai-'];

/**
 * Headers of a call of the engine, names and values in turn. The engine's own key, where its owner has set
 * one, goes before whatever the caller holds.
 */
export function engineHeaders(
  caller: IncomingHttpHeaders,
  engineAuthorization: string | null,
  hasBody: boolean,
): string[] {
  const headers = hasBody ? ['content-type', 'application/json'] : [];
  const authorization = engineAuthorization ?? caller.authorization;
  if (authorization !== undefined) headers.push('authorization', authorization);
  for (const [name, value] of Object.entries(caller)) {
    if (typeof value === 'string' && isListed(name, TO_ENGINE, TO_ENGINE_PREFIXES)) {
      headers.push(name, value);
    }
  }
  return headers;
}

/** Headers of the engine's answer that the caller gets. */
export function callerHeaders(engine: ResponseHeaders): Record<string, string> {
  const headers: Record<string, string> = { 'cache-control': 'no-store' };
  for (const [name, value] of Object.entries(engine)) {
    if (typeof value === 'string' && isListed(name, TO_CALLER, TO_CALLER_PREFIXES)) {
      headers[name] = value;
    }
  }
  return headers;
}

function isListed(name: string, names: ReadonlySet<string>, prefixes: readonly string[]): boolean {
  return names.has(name) || prefixes.some((prefix) => name.startsWith(prefix));
}

/** A request body, or why there is none. */
type BodyRead =
  | { readonly kind: 'body'; readonly bytes: Buffer }
  | { readonly kind: 'too_large' }
  /** The bodies in flight leave no room for it. */
  | { readonly kind: 'no_room' }
  /** The caller went away while sending. */
  | { readonly kind: 'aborted' };

/** Reads a whole body of at most `maxBytes`; whoever made the share gives it back. */
export function readBody(
  req: IncomingMessage,
  maxBytes: number,
  share: BodyShare,
): Promise<BodyRead> {
  return new Promise((resolve) => {
    const announced = Number(req.headers['content-length'] ?? 0);
    const body = new ByteBuffer(announced);
    let taken = 0;
    let isRefused = false;

    const refuse = (kind: 'too_large' | 'no_room') => {
      isRefused = true;
      body.clear();
      share.giveBack();
      resolve({ kind });
    };
    const take = (bytes: number) => {
      if (bytes > maxBytes) refuse('too_large');
      else if (bytes > taken && !share.take(bytes - taken)) refuse('no_room');
      else taken = Math.max(taken, bytes);
    };

    take(announced);
    if (isRefused) return;
    req.on('data', (chunk: Buffer) => {
      if (isRefused) return;
      take(body.length + chunk.length);
      if (!isRefused) body.add(chunk);
    });
    req.on('end', () => resolve({ kind: 'body', bytes: body.take() }));
    req.on('close', () => resolve({ kind: 'aborted' }));
    req.on('error', () => resolve({ kind: 'aborted' }));
  });
}

/** A body beyond this is not searched for its model: that would hold up everybody else. */
const MAX_SEARCHED_BYTES = 1024 * 1024;

/** The model that a body asks for; null where it names none, or is too large to be searched. */
export function modelAskedFor(bytes: Buffer): string | null {
  if (bytes.length > MAX_SEARCHED_BYTES) return null;
  // The engine judges what it is sent, and answers in its own words.
  const model = memberOf(parseJson(bytes.toString('utf8')), 'model');
  return typeof model === 'string' && model !== '' && model.length <= 1024 ? model : null;
}

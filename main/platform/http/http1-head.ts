import type { ResponseHeaders } from './types.ts';

/** Where a response's body ends. */
export type BodyEnd =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly bytes: number }
  | { readonly kind: 'chunks' }
  /** With the connection. */
  | { readonly kind: 'close' };

/** The head of a response. */
export interface ResponseHead {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly bodyEnd: BodyEnd;
  /** How long the other side keeps the idle connection; null where it does not, Infinity where it does not say. */
  readonly keepAliveMs: number | null;
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |$)/;
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** What may not stand in a line: controls but for the tab, a CR or LF on its own included. */
const FORBIDDEN = /[^\t\x20-\x7e\x80-\xff]/;

/**
 * Reads a response head (RFC 9112), without its closing blank line, one character a byte; null where it
 * is none. Strict where leniency lets two readers see two different responses: folded lines, blanks
 * before the colon, a length beside chunks, two lengths.
 */
export function parseHead(text: string): ResponseHead | null {
  const lines = text.split('\r\n');
  const first = STATUS_LINE.exec(lines[0] ?? '');
  if (first === null || FORBIDDEN.test(lines[0] ?? '')) return null;
  const headers = parseFields(lines);
  if (headers === null) return null;
  const status = Number(first[2]);
  const bodyEnd = bodyEndOf(status, headers);
  if (bodyEnd === null) return null;
  const isKept = bodyEnd.kind !== 'close' && isKeptAlive(first[1] === '1', headers);
  return { status, headers, bodyEnd, keepAliveMs: isKept ? keepAliveMsOf(headers) : null };
}

/** HTTP/1.1 keeps connections unless it says not to, HTTP/1.0 only if it says so. */
function isKeptAlive(isHttp11: boolean, headers: ResponseHeaders): boolean {
  const { connection, 'proxy-connection': ofProxy } = headers;
  // Nearly every answer of an engine.
  if (connection === undefined && ofProxy === undefined) return isHttp11;
  const words = [connection ?? [], ofProxy ?? []].flat().join(',').toLowerCase();
  return (
    !/\bclose\b/.test(words) && (isHttp11 || /(?:^|,)[\t ]*keep-alive[\t ]*(?:,|$)/.test(words))
  );
}

/** A request that is written as the other side closes is lost, so a second is left between. */
const KEEP_ALIVE_MARGIN_MS = 1000;

function keepAliveMsOf({ 'keep-alive': hint }: ResponseHeaders): number | null {
  const seconds = /\btimeout=(\d+)/i.exec(String(hint ?? ''))?.[1];
  if (seconds === undefined) return Infinity;
  const keptMs = Number(seconds) * 1000 - KEEP_ALIVE_MARGIN_MS;
  return keptMs > 0 ? keptMs : null;
}

function parseFields(lines: readonly string[]): ResponseHeaders | null {
  const headers: Record<string, string | string[]> = {};
  for (let index = 1; index < lines.length; index += 1) {
    const line = lines[index] ?? '';
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(colon, 0)).toLowerCase();
    if (!NAME.test(name) || FORBIDDEN.test(line)) return null;
    // Some readers take the tab for a part of the coding, which they do not know then.
    if (name === 'transfer-encoding' && line.endsWith('\t')) return null;
    addField(headers, name, valueOf(line, colon + 1));
  }
  return headers;
}

/** The value without the blanks around it: `trim` would take a no-break space (0xa0) for one as well. */
function valueOf(line: string, colonEnd: number): string {
  let start = colonEnd;
  let end = line.length;
  while (start < end && isBlank(line.charCodeAt(start))) start += 1;
  while (end > start && isBlank(line.charCodeAt(end - 1))) end -= 1;
  return line.slice(start, end);
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09;

/** Repeated fields gather in one list: a new one for each would be quadratic. */
function addField(headers: Record<string, string | string[]>, name: string, value: string): void {
  const known = Object.hasOwn(headers, name) ? headers[name] : undefined;
  if (known === undefined) headers[name] = value;
  else if (typeof known === 'string') headers[name] = [known, value];
  else known.push(value);
}

/**
 * Where the body ends; null where two readers might see two ends of it, which holds for heads without a body
 * as well: a length beside chunks, two lengths even if they are the same, another coding than chunks.
 */
function bodyEndOf(status: number, headers: ResponseHeaders): BodyEnd | null {
  const { 'transfer-encoding': coding, 'content-length': length } = headers;
  if (coding !== undefined && length !== undefined) return null;
  if (coding !== undefined && String(coding).toLowerCase() !== 'chunked') return null;
  // Fifteen digits are the most that a number holds exactly.
  if (length !== undefined && !/^\d{1,15}$/.test(String(length))) return null;
  if (status < 200 || status === 204 || status === 304) return { kind: 'none' };
  if (coding !== undefined) return { kind: 'chunks' };
  return length === undefined ? { kind: 'close' } : { kind: 'length', bytes: Number(length) };
}

import type { ResponseHeaders } from './types.ts';

/** Where a response's body ends. */
export type BodyEnd =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly bytes: number }
  | { readonly kind: 'chunks' }
  /** The end of the connection. */
  | { readonly kind: 'close' };

export interface ResponseHead {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly bodyEnd: BodyEnd;
  /** How long the other side keeps the idle connection: null for not at all, Infinity if it does not say. */
  readonly keepAliveMs: number | null;
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |$)/;
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Control characters except the tab; a lone CR or LF is one. */
const FORBIDDEN = /[^\t\x20-\x7e\x80-\xff]/;

/**
 * Parses a response head (RFC 9112) of one character per byte, without its closing blank line; null if it is
 * malformed. Strict wherever lenient parsers disagree on what the response is: folded lines, blanks before the
 * colon, a length beside chunks, two lengths.
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

/** By default HTTP/1.1 keeps connections and HTTP/1.0 does not. */
function isKeptAlive(isHttp11: boolean, headers: ResponseHeaders): boolean {
  const { connection, 'proxy-connection': ofProxy } = headers;
  // A shortcut for most responses of engines.
  if (connection === undefined && ofProxy === undefined) return isHttp11;
  const words = [connection ?? [], ofProxy ?? []].flat().join(',').toLowerCase();
  return (
    !/\bclose\b/.test(words) && (isHttp11 || /(?:^|,)[\t ]*keep-alive[\t ]*(?:,|$)/.test(words))
  );
}

/** A request written while the other side closes is lost, so the announced time is not used in full. */
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
    // Some parsers take the tab for a part of the coding.
    if (name === 'transfer-encoding' && line.endsWith('\t')) return null;
    addField(headers, name, valueOf(line, colon + 1));
  }
  return headers;
}

/** Trims blanks only: `trim` would also remove a no-break space (0xa0). */
function valueOf(line: string, colonEnd: number): string {
  let start = colonEnd;
  let end = line.length;
  while (start < end && isBlank(line.charCodeAt(start))) start += 1;
  while (end > start && isBlank(line.charCodeAt(end - 1))) end -= 1;
  return line.slice(start, end);
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09;

/** Appends to one list for a repeated field: a new list each time would be quadratic. */
function addField(headers: Record<string, string | string[]>, name: string, value: string): void {
  const known = Object.hasOwn(headers, name) ? headers[name] : undefined;
  if (known === undefined) headers[name] = value;
  else if (typeof known === 'string') headers[name] = [known, value];
  else known.push(value);
}

/**
 * Null if two parsers might disagree on the end of the body: a length beside chunks, two lengths even if
 * they are equal, another coding than chunks. This is checked for responses without a body too.
 */
function bodyEndOf(status: number, headers: ResponseHeaders): BodyEnd | null {
  const { 'transfer-encoding': coding, 'content-length': length } = headers;
  if (coding !== undefined && length !== undefined) return null;
  if (coding !== undefined && String(coding).toLowerCase() !== 'chunked') return null;
  // More digits do not fit into a number exactly.
  if (length !== undefined && !/^\d{1,15}$/.test(String(length))) return null;
  if (status < 200 || status === 204 || status === 304) return { kind: 'none' };
  if (coding !== undefined) return { kind: 'chunks' };
  return length === undefined ? { kind: 'close' } : { kind: 'length', bytes: Number(length) };
}

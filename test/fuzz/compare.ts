import { parsedByLlhttp } from './llhttp.ts';
import { parsedByUs, type Parsed } from './parsed.ts';
import { responses, type FuzzCase } from './responses.ts';

/** A case of which the two make something else, and what. */
export interface Difference {
  readonly index: number;
  readonly what: string;
  readonly fuzzCase: FuzzCase;
  readonly ours: Parsed;
  readonly llhttp: Parsed;
}

/** What a run saw. */
export interface FuzzResult {
  readonly difference: Difference | null;
  /** Cases that both read to their end: a run that bends everything proves nothing. */
  readonly whole: number;
}

/** Compares both parsers over the cases of a seed, up to the first difference. */
export function compareParsers(cases: number, seed: number): FuzzResult {
  let index = 0;
  let whole = 0;
  for (const fuzzCase of responses(seed)) {
    const ours = parsedByUs(fuzzCase);
    const llhttp = parsedByLlhttp(fuzzCase);
    const what = differenceOf(fuzzCase, ours, llhttp);
    if (what !== null) return { difference: { index, what, fuzzCase, ours, llhttp }, whole };
    if (ours.end === 'whole') whole += 1;
    index += 1;
    if (index === cases) break;
  }
  return { difference: null, whole };
}

/** Where ours is stricter on purpose, as text of the wire. */
const STRICTER: readonly RegExp[] = [
  // Versions in which no upstream answers a request in HTTP/1.1.
  /HTTP\/(?:0\.9|2\.0) /,
  // Empty lines before a head.
  /^[\r\n]|\r\n\r\n[\r\n]+HTTP/,
  // No status, and the one that changes the protocol.
  /HTTP\/1\.[01] (?:0\d\d|101)/,
  // Heads before the final one that end the connection, or come in a version that has none.
  /HTTP\/1\.0 1\d\d|HTTP\/1\.1 1\d\d[^]*(?:close|timeout=1)/i,
  // Controls in the reason, which nobody reads.
  /HTTP\/1\.[01] [^\r\n]*[^\t\r\n\x20-\x7e\x80-\xff]/,
  // Codings that the gateway never asked for, and two of them.
  /transfer-encoding:(?![ \t]*chunked *\r\n)/i,
  /transfer-encoding:[^]*transfer-encoding:/i,
  // More digits than a number holds exactly.
  /content-length:[ \t]*\d{16}/i,
  /\n[\da-f]{14}/i,
];

function differenceOf({ wire, cuts }: FuzzCase, ours: Parsed, llhttp: Parsed): string | null {
  if (ours.end === 'refused') {
    const isExplained = STRICTER.some((pattern) => pattern.test(wire.toString('latin1')));
    return llhttp.end === 'refused' || isExplained ? null : 'refused, but not by llhttp';
  }
  // Heads, extensions and trailers are read as a whole: until then nobody hears of what is wrong in them.
  if (ours.end === 'open' && llhttp.end === 'refused') {
    const isHead = ours.status === null;
    const ended = Buffer.concat([wire, Buffer.from('\r\n')]);
    if (isHead || parsedByUs({ wire: ended, cuts }).end === 'refused') return null;
  }
  if (ours.end !== llhttp.end) return `${ours.end} where llhttp says ${llhttp.end}`;
  return differenceInParts(ours, llhttp) ?? differenceInEnd({ wire, cuts }, ours, llhttp);
}

function differenceInParts(ours: Parsed, llhttp: Parsed): string | null {
  if (ours.status !== llhttp.status) return 'another status';
  if (ours.status === null) return null;
  if (ours.data !== llhttp.data) return 'another body';
  return sorted(ours.fields) === sorted(llhttp.fields) ? null : 'other fields';
}

function differenceInEnd({ wire, cuts }: FuzzCase, ours: Parsed, llhttp: Parsed): string | null {
  if (ours.endsWithConnection !== llhttp.endsWithConnection) return 'another end';
  if (ours.isKept && !llhttp.isKept) return 'the connection is kept';
  // Bytes behind the end are seen in the read that holds the end; other reads are the connection's to see.
  const isAtEnd = llhttp.wholeBytes === wire.length || cuts.includes(llhttp.wholeBytes ?? -1);
  const wholeBytes = isAtEnd ? llhttp.wholeBytes : null;
  return ours.wholeBytes === wholeBytes ? null : 'another last byte';
}

/** Fields of one name in their order, whatever stood between. */
function sorted(fields: readonly string[]): string {
  const lines = fields.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${fields[at + 1]}`] : []));
  return lines
    .map((line, at) => [line.slice(0, line.indexOf(':')), at, line] as const)
    .toSorted(([a, m], [b, n]) => (a === b ? m - n : a < b ? -1 : 1))
    .map(([, , line]) => line)
    .join('\n');
}

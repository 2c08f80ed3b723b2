import type { Parsed } from './parsed.ts';
import type { FuzzCase } from './responses.ts';

/**
 * The parser of Node's own client, without the client: no types and no promise that it stays, but a fuzz of a
 * million cases is done in a minute, and what is compared is llhttp alone, as strict as Node makes it.
 */
interface NodeParser {
  initialize(type: number, owner: object, maxHeadBytes: number, lenient: number): void;
  /** The bytes taken, or what was wrong with them. */
  execute(bytes: Buffer): number | Error;
  finish(): Error | undefined;
  [callback: number]: (...values: never[]) => unknown;
}

interface NodeParserClass {
  new (): NodeParser;
  readonly RESPONSE: number;
  readonly kOnHeaders: number;
  readonly kOnHeadersComplete: number;
  readonly kOnBody: number;
  readonly kOnMessageComplete: number;
  readonly kLenientNone: number;
}

const { HTTPParser } = process.getBuiltinModule('node:_http_common') as never as {
  readonly HTTPParser: NodeParserClass;
};

const MAX_HEAD_BYTES = 32 * 1024;
const SKIP_BODY = 1;

/** What llhttp makes of a case. It gets one byte at a time, so that it shows where a response ends. */
export function parsedByLlhttp({ wire }: FuzzCase): Parsed {
  const parser = new HTTPParser();
  parser.initialize(HTTPParser.RESPONSE, {}, MAX_HEAD_BYTES, HTTPParser.kLenientNone);
  let status: number | null = null;
  let current = 0;
  let raw: readonly string[] = [];
  let fields: readonly string[] = [];
  let data = '';
  let isKept = false;
  let isWhole = false;
  let isUpgrade = false;
  // Many fields, and trailers, come on their own.
  parser[HTTPParser.kOnHeaders] = (some: readonly string[]) => void (raw = [...raw, ...some]);
  parser[HTTPParser.kOnHeadersComplete] = (
    ...[, , rest, , , seen, , upgrade, keep]: [
      number,
      number,
      readonly string[] | undefined,
      unknown,
      unknown,
      number,
      string,
      boolean,
      boolean,
    ]
  ) => {
    current = seen;
    isUpgrade ||= upgrade;
    if (seen >= 200) {
      status = seen;
      fields = [...raw, ...(rest ?? [])];
      isKept = keep;
    }
    raw = [];
    return seen < 200 ? SKIP_BODY : 0;
  };
  parser[HTTPParser.kOnBody] = (piece: Buffer) => void (data += piece.toString('latin1'));
  parser[HTTPParser.kOnMessageComplete] = () => void (isWhole ||= current >= 200);
  const done = (
    end: Parsed['end'],
    wholeBytes: number | null,
    endsWithConnection = false,
  ): Parsed => ({
    end,
    wholeBytes,
    status,
    fields: fields.map((text, index) => (index % 2 === 0 ? text.toLowerCase() : text)),
    data,
    endsWithConnection,
    isKept,
  });
  for (let at = 0; at < wire.length; at += 1) {
    const taken = parser.execute(wire.subarray(at, at + 1));
    if (isWhole) return done('whole', at + 1);
    if (taken instanceof Error || isUpgrade) return done('refused', null);
  }
  const error = parser.finish();
  return done('open', null, error === undefined && isWhole);
}

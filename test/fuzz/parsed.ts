import { ResponseParser } from '../../main/platform/http/http1-parser.ts';
import { cut } from '../support/pieces.ts';
import type { FuzzCase } from './responses.ts';

/** What a parser makes of a case. */
export interface Parsed {
  /** `open`: more may come. `refused`: it is none, or broken. */
  readonly end: 'whole' | 'open' | 'refused';
  /** Where it ended, if it did. */
  readonly wholeBytes: number | null;
  /** Null before its head has come. */
  readonly status: number | null;
  /** Names in small letters and values, each as they came. */
  readonly fields: readonly string[];
  readonly data: string;
  /** Whether the end of the connection would make it whole. */
  readonly endsWithConnection: boolean;
  readonly isKept: boolean;
}

/** What the gateway's own parser makes of it. */
export function parsedByUs({ wire, cuts }: FuzzCase): Parsed {
  let status: number | null = null;
  let fields: string[] = [];
  let data = '';
  const parser = new ResponseParser({
    onHead(seen, headers) {
      if (seen < 200) return;
      status = seen;
      fields = Object.entries(headers).flatMap(([name, value]) =>
        [value ?? []].flat().flatMap((one) => [name, one]),
      );
    },
    onData: (piece) => void (data += piece.toString('latin1')),
  });
  let state = 'going';
  let taken = 0;
  for (const piece of cut(wire, cuts)) {
    if (state !== 'going') break;
    // A copy: the parser may move what it reads.
    state = parser.push(Buffer.from(piece), piece.length);
    taken += piece.length;
  }
  const isWhole = state === 'whole' || state === 'overrun';
  return {
    end: isWhole ? 'whole' : state === 'going' ? 'open' : 'refused',
    wholeBytes: state === 'whole' ? taken : null,
    status,
    fields,
    data,
    endsWithConnection: state === 'going' && parser.endsWithConnection(),
    isKept: parser.keepAliveMs() !== null,
  };
}

import { Session, type HeapProfiler } from 'node:inspector';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ResponseParser } from '../../../main/platform/http/http1-parser.ts';
import { cut } from '../../support/pieces.ts';

/** Parses `pieces` to their end or to the first state that is not `going`. */
function parse(pieces: readonly (Buffer | string)[]) {
  const data: Buffer[] = [];
  const heads: { status: number; headers: object }[] = [];
  const parser = new ResponseParser({
    onHead(status, headers) {
      if (status >= 200) heads.push({ status, headers });
    },
    onData: (piece) => data.push(Buffer.from(piece)),
  });
  let state = 'going';
  for (const piece of pieces) {
    // A copy: the parser may move what it reads.
    const bytes = Buffer.from(piece);
    if (state === 'going') state = parser.push(bytes, bytes.length);
  }
  return {
    state,
    heads,
    data: Buffer.concat(data).toString(),
    keepAliveMs: parser.keepAliveMs(),
    endsWithConnection: parser.endsWithConnection(),
  };
}

const OK = 'HTTP/1.1 200 OK\r\n';

const WHOLE: readonly [what: string, wire: string, data: string][] = [
  ['a length', `${OK}content-length: 2\r\n\r\nhi`, 'hi'],
  ['no bytes', `${OK}content-length: 0\r\n\r\n`, ''],
  ['chunks', `${OK}transfer-encoding: Chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n`, 'hi'],
  ['204', 'HTTP/1.1 204 No Content\r\n\r\n', ''],
  ['304', 'HTTP/1.1 304 Not Modified\r\ncontent-length: 7\r\n\r\n', ''],
  [
    'heads before the last one',
    `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\na: b\r\n\r\n${OK}content-length: 2\r\n\r\nhi`,
    'hi',
  ],
  ['no reason phrase', 'HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nhi', 'hi'],
  [
    'Latin in the reason and the values',
    'HTTP/1.1 200 \xc9a\r\nx: \xe9\ty\r\ncontent-length: 0\r\n\r\n',
    '',
  ],
];

test.each(WHOLE)(
  'a response with %s is whole at its last byte, in any pieces',
  (_what, wire, data) => {
    const bytes = Buffer.from(wire, 'latin1');
    expect(parse([bytes])).toMatchObject({ state: 'whole', data });
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length)), (cuts) => {
        expect(parse(cut(bytes, cuts))).toMatchObject({ state: 'whole', data });
      }),
      { numRuns: 300 },
    );
    for (let end = 0; end < bytes.length; end += 1) {
      expect(parse([bytes.subarray(0, end)]).state).toBe('going');
    }
  },
);

test('a response without length or chunks ends with its connection', () => {
  const seen = parse([OK, '\r\nhi', ' there']);
  expect(seen).toMatchObject({ state: 'going', data: 'hi there', endsWithConnection: true });
  expect(seen.keepAliveMs).toBeNull();
});

test('headers come in lower case, trimmed, and repeated ones as a list', () => {
  const wire = `${OK}Set-Cookie: a\r\nX-One: \t v w \r\nset-cookie:b\r\nEmpty:\r\ncontent-length: 0\r\n\r\n`;
  expect(parse([wire]).heads).toEqual([
    {
      status: 200,
      headers: { 'set-cookie': ['a', 'b'], 'x-one': 'v w', empty: '', 'content-length': '0' },
    },
  ]);
});

test('headers named like properties that every object inherits are headers like others', () => {
  const wire = `${OK}constructor: a\r\nconstructor: b\r\n__proto__: c\r\ncontent-length: 0\r\n\r\n`;
  const [head] = parse([wire]).heads;
  expect(Object.entries(head?.headers ?? {})).toContainEqual(['constructor', ['a', 'b']]);
  expect(Object.getPrototypeOf(head?.headers)).toBe(Object.prototype);
});

test.each<[what: string, wire: string]>([
  ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n\r\n'],
  ['HTTP/2', 'HTTP/2 200 OK\r\n\r\n'],
  ['HTTP/1.2', 'HTTP/1.2 200 OK\r\n\r\n'],
  ['a status of two digits', 'HTTP/1.1 99 OK\r\n\r\n'],
  ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n'],
  ['a change of protocol', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n'],
  ['an interim head that ends the connection', `HTTP/1.0 103 Early\r\n\r\n${OK}\r\n`],
  ['a line without colon', `${OK}content-length\r\n\r\n`],
  ['a blank before the colon', `${OK}content-length : 2\r\n\r\nhi`],
  ['a blank before the name', `${OK}a: b\r\n content-length: 2\r\n\r\nhi`],
  ['a name that is empty', `${OK}: 2\r\n\r\n`],
  ['a bare LF', `${OK}a: b\ncontent-length: 2\r\n\r\nhi`],
  ['a bare CR', `${OK}a: b\rc\r\n\r\n`],
  ['a NUL', `${OK}a: b\0c\r\n\r\n`],
  ['two lengths', `${OK}content-length: 1\r\ncontent-length: 2\r\n\r\nhi`],
  ['the same length twice', `${OK}content-length: 2\r\ncontent-length: 2\r\n\r\nhi`],
  ['a length that is none, without a body', 'HTTP/1.1 204 No\r\ncontent-length: x\r\n\r\n'],
  ['a tab behind a coding', `${OK}transfer-encoding: chunked\t\r\n\r\n`],
  ['a length beside chunks', `${OK}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n`],
  ['a negative length', `${OK}content-length: -1\r\n\r\n`],
  ['a list of lengths', `${OK}content-length: 2, 2\r\n\r\nhi`],
  ['a length of 16 digits', `${OK}content-length: 1000000000000000\r\n\r\n`],
  ['another coding than chunks', `${OK}transfer-encoding: gzip, chunked\r\n\r\n`],
  ['a no-break space behind a coding', `${OK}transfer-encoding: chunked\xa0\r\n\r\n`],
  ['a no-break space before a length', `${OK}content-length:\xa02\r\n\r\nhi`],
])('a response with %s is malformed', (_what, wire) => {
  expect(parse([Buffer.from(wire, 'latin1')])).toMatchObject({ state: 'malformed', heads: [] });
});

test('a head of 32 KiB is read, and one of a byte more is too large', () => {
  const fill = (bytes: number) => `${OK}content-length: 0\r\nx: `.padEnd(bytes, 'y');
  expect(parse([`${fill(32 * 1024)}\r\n\r\n`]).state).toBe('whole');
  expect(parse([`${fill(32 * 1024 + 1)}\r\n\r\n`]).state).toBe('too_large');
  expect(parse([fill(40 * 1024)]).state).toBe('too_large');
});

test('the time for a head with repeated fields grows with their number, not with its square', () => {
  const wire = (fields: number) => Buffer.from(`${OK}${'a:\r\n'.repeat(fields)}\r\n`);
  const taken = (fields: number) => {
    const bytes = wire(fields);
    const parser = new ResponseParser({ onHead() {}, onData() {} });
    return allocatedBytes(() => void parser.push(bytes, bytes.length));
  };
  taken(8000);
  expect(taken(8000)).toBeLessThan(8 * taken(2000));
});

test('a piece of a body does not change when the next read comes', () => {
  const data: Buffer[] = [];
  const parser = new ResponseParser({ onHead() {}, onData: (piece) => void data.push(piece) });
  const read = Buffer.from(`${OK}content-length: 4\r\n\r\nhi`);
  parser.push(read, read.length);
  read.fill('x');
  expect(Buffer.concat(data).toString()).toBe('hi');
});

test('a response with bytes behind its last one is an overrun', () => {
  expect(parse([`${OK}content-length: 2\r\n\r\nhi!`])).toMatchObject({
    state: 'overrun',
    data: 'hi',
  });
});

test.each<[head: string, keepAliveMs: number | null]>([
  ['HTTP/1.1 200 OK\r\n', Infinity],
  ['HTTP/1.1 200 OK\r\nconnection: close\r\n', null],
  ['HTTP/1.1 200 OK\r\nconnection: x, Close\r\n', null],
  ['HTTP/1.1 200 OK\r\nkeep-alive: timeout=5, max=100\r\n', 4000],
  ['HTTP/1.1 200 OK\r\nkeep-alive: timeout=1\r\n', null],
  ['HTTP/1.0 200 OK\r\n', null],
  ['HTTP/1.0 200 OK\r\nconnection: Keep-Alive\r\n', Infinity],
])('the connection of the response %j is kept for %s ms', (head, keepAliveMs) => {
  expect(parse([`${head}content-length: 0\r\n\r\n`]).keepAliveMs).toBe(keepAliveMs);
});

/** Newer than its types: what the collector takes away meanwhile counts as well. */
const SAMPLING: HeapProfiler.StartSamplingParameterType & Readonly<Record<string, unknown>> = {
  samplingInterval: 4096,
  includeObjectsCollectedByMajorGC: true,
  includeObjectsCollectedByMinorGC: true,
};

/**
 * Bytes of heap that `work` takes, garbage included: an estimate from samples, good enough to tell growth in
 * proportion from growth with the square.
 */
function allocatedBytes(work: () => void): number {
  const session = new Session();
  session.connect();
  session.post('HeapProfiler.startSampling', SAMPLING);
  work();
  let bytes = 0;
  session.post('HeapProfiler.stopSampling', (_error, { profile }) => {
    bytes = bytesBelow(profile.head);
  });
  session.disconnect();
  return bytes;
}

function bytesBelow(node: HeapProfiler.SamplingHeapProfileNode): number {
  return node.children.reduce((sum, child) => sum + bytesBelow(child), node.selfSize);
}

import { chance } from '../support/chance.ts';

/** One response as bytes, most often bent somewhere, and the places where it falls into reads. */
export interface FuzzCase {
  readonly wire: Buffer;
  readonly cuts: readonly number[];
}

type Pick = <T>(choices: readonly T[]) => T;

interface Dice {
  readonly below: (limit: number) => number;
  readonly pick: Pick;
}

const STATUS_LINES = [
  'HTTP/1.1 200 OK',
  'HTTP/1.0 200 OK',
  'HTTP/1.1 204 No Content',
  'HTTP/1.1 304 Not Modified',
  'HTTP/1.1 404 Not Found',
  'HTTP/1.1 200',
  'HTTP/1.1 200 ',
  'HTTP/1.1 503 \xe9 \t x',
];
const BROKEN_STATUS_LINES = [
  'HTTP/1.1 101 Switching Protocols',
  'HTTP/1.1  200 OK',
  'HTTP/1.2 200 OK',
  'HTTP/2.0 200 OK',
  'HTTP/0.9 200 OK',
  'http/1.1 200 OK',
  'HTTP/1.1 099 Low',
  'HTTP/1.1 2000 OK',
  '\r\nHTTP/1.1 200 OK',
];
const INTERIM_HEADS = [
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n',
  'HTTP/1.1 102 Processing\r\ncontent-length: 3\r\n\r\n',
  'HTTP/1.1 102 Processing\r\ntransfer-encoding: chunked\r\n\r\n',
];
const FIELDS = [
  'content-type: text/event-stream',
  'Set-Cookie: a=b',
  'set-cookie:c',
  'x: \t y z \t ',
  'empty:',
  'empty: \t',
  'latin: \xe9\xa0',
  'connection: close',
  'Connection: keep-alive',
  'connection: x, Close',
  'connection: upgrade',
  'upgrade: websocket',
  'keep-alive: timeout=5',
  'keep-alive: timeout=1',
  'proxy-connection: close',
  'constructor: x',
];
const BROKEN_FIELDS = [
  'folded: a\r\n b',
  'blank : x',
  ' lead: x',
  'no colon',
  ': no name',
  'na me: x',
  'ctl: \x01',
  'del: \x7f',
  'nul: \0',
  'bare: a\rb',
  'lf: a\nb: c',
];
const LENGTHS = ['+', '-', '0x', '', ' ', '\t', '\xa0'];
const CODINGS = [
  'chunked',
  'Chunked',
  'chunked\xa0',
  '\xa0chunked',
  'chunked \t',
  '\tchunked',
  'chunked,',
  ',chunked',
  'chunked, chunked',
  'gzip, chunked',
  'chunked, gzip',
  'gzip',
  'identity',
  'xchunked',
  'chunked;q=1',
  '"chunked"',
  '',
];
const AFTER_SIZE = [
  ';a',
  ';a=b',
  ';a="b c"',
  ';a="\\""',
  ';',
  ' ',
  '\t',
  ' ;a',
  '; a',
  ';a =b',
  ';a="b',
  '\xa0',
];
const TRAILERS = [
  'x: y\r\n',
  'x:\r\n',
  'content-length: 3\r\n',
  'transfer-encoding: chunked\r\n',
  'no colon\r\n',
  ': y\r\n',
  ' x: y\r\n',
  'x y: z\r\n',
  'x: \x01\r\n',
  'HTTP/1.1 200 OK\r\n',
  'connection: close\r\n',
  'x: y\r\n folded\r\n',
];
/** What breaks a parser if anything does. */
const BYTES = Buffer.from('\r\n\r\n\0\t :;,=0123afF"\\\x7f\x80\xa0\xff-+xgZ', 'latin1');

/** Makes the cases that belong to a seed, without end. */
export function* responses(seed: number): Generator<FuzzCase, never> {
  const next = chance(seed);
  const below = (limit: number) => Math.floor(next() * limit);
  const dice: Dice = { below, pick: (choices) => choices[below(choices.length)] as never };
  for (;;) {
    let wire: Buffer = Buffer.from(responseText(dice), 'latin1');
    for (let bends = below(6) - 3; bends > 0; bends -= 1) wire = bent(wire, dice);
    const cuts = Array.from({ length: below(6) }, () => below(wire.length));
    yield { wire, cuts };
  }
}

function responseText(dice: Dice): string {
  const { below, pick } = dice;
  const interim = below(8) === 0 ? pick(INTERIM_HEADS).repeat(1 + below(2)) : '';
  const fields = Array.from({ length: below(4) }, () =>
    pick(below(20) === 0 ? BROKEN_FIELDS : FIELDS),
  );
  const kind = below(10);
  const data = 'abcdefghijkl'.slice(0, below(12));
  let body = data;
  if (kind < 4) fields.push(lengthField(data.length, dice));
  else if (kind < 8) {
    fields.push(`Transfer-Encoding: ${below(6) === 0 ? pick(CODINGS) : 'chunked'}`);
    body = chunks(dice);
    if (below(20) === 0) fields.push(lengthField(body.length, dice));
    if (below(20) === 0) fields.push(`transfer-encoding: ${pick(CODINGS)}`);
  }
  if (below(20) === 0) fields.push(lengthField(data.length, dice));
  const first = pick(below(20) === 0 ? BROKEN_STATUS_LINES : STATUS_LINES);
  const head = [first, ...fields].map((line) => `${line}\r\n`).join('');
  const surplus = below(8) === 0 ? 'HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil' : '';
  return `${interim}${head}\r\n${body}${surplus}`;
}

function lengthField(bytes: number, { below, pick }: Dice): string {
  const before = below(8) === 0 ? pick(LENGTHS) : '';
  const after = below(8) === 0 ? pick([' ', '\t', '\xa0', ', 1', ',', 'x', ` ${bytes}`]) : '';
  return `content-length: ${before}${'0'.repeat(below(12) === 0 ? below(20) : 0)}${bytes}${after}`;
}

function chunks({ below, pick }: Dice): string {
  const parts = Array.from({ length: below(4) }, () => {
    const data = 'abcdefghijklmnopqrst'.slice(0, 1 + below(20));
    const size = data.length.toString(16).padStart(below(20) === 0 ? below(20) : 0, '0');
    return `${below(20) === 0 ? pick(['+', '0x', ' ', '-']) : ''}${size}${below(8) === 0 ? pick(AFTER_SIZE) : ''}\r\n${data}\r\n`;
  });
  const trailers = below(6) === 0 ? pick(TRAILERS).repeat(1 + below(2)) : '';
  return `${parts.join('')}${pick(['0', '0', '0', '0', '0', '00', '0;a', '0 '])}\r\n${trailers}\r\n`;
}

/** One byte more, less or another, or a piece once more or gone. */
function bent(wire: Buffer, { below }: Dice): Buffer {
  const at = below(wire.length);
  const byte = BYTES.subarray(below(BYTES.length)).subarray(0, 1);
  const before = wire.subarray(0, at);
  const end = Math.min(wire.length, at + 1 + below(12));
  switch (below(5)) {
    case 0:
      return Buffer.concat([before, byte, wire.subarray(at)]);
    case 1:
      return Buffer.concat([before, wire.subarray(at + 1)]);
    case 2:
      return Buffer.concat([before, byte, wire.subarray(at + 1)]);
    case 3:
      return Buffer.concat([before, wire.subarray(at, end), wire.subarray(at)]);
    default:
      return Buffer.concat([before, wire.subarray(end)]);
  }
}

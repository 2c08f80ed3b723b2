import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createSentBytes } from '../../main/gateway/chat/relay.ts';
import {
  createAnswerReader,
  createErrorReader,
  readerFor,
} from '../../main/gateway/upstream/body-readers.ts';
import { CHAT_COMPLETIONS } from '../../main/gateway/protocols/chat/endpoint.ts';
import { decoded } from '../../main/platform/http/decoding.ts';
import { bufferEvents } from '../../main/platform/http/outgoing-call.ts';
import { createBodyBudget, readBody } from '../../main/platform/http/bodies.ts';
import type { Exchange, ResponseListener } from '../../main/platform/http/types.ts';
import { liveBytes } from '../support/live-bytes.ts';

/** Memory that is in use once nobody is left who holds any of the rest. */
async function memoryBytes(): Promise<number> {
  // What the test before held is let go of in the turns after it.
  for (let turn = 0; turn < 5; turn += 1) await nextTurn();
  return liveBytes();
}

/** Takes the pieces of a body, and keeps what it is made of alive. */
interface Keeper {
  readonly take: (piece: Buffer) => void;
  readonly held: unknown;
}

const nobody: ResponseListener = { onHead() {}, onData() {}, onEnd() {}, onFailure() {} };

/** What stands between an exchange and its reader. */
function through(wrap: (exchange: Exchange) => unknown): Keeper {
  const exchange = { listener: nobody, pause() {}, resume() {}, abort() {}, hasLeft: () => true };
  const held = [wrap(exchange), exchange];
  return { take: (piece) => exchange.listener.onData(piece), held };
}

/** A request whose body comes from the test. */
function requested(read: (req: IncomingMessage) => unknown): Keeper {
  const req = new IncomingMessage(new Socket());
  const held = [read(req), req];
  return { take: (piece) => void req.emit('data', piece), held };
}

const ofReader = (reader: { readonly push: (piece: Buffer) => unknown }): Keeper => ({
  take: (piece) => void reader.push(piece),
  held: reader,
});

const PLAN = { format: CHAT_COMPLETIONS.answer, followsToolResult: () => false };

const KEEPERS: readonly [what: string, make: () => Keeper][] = [
  [
    'a request with a share of a budget',
    () => {
      const share = createBodyBudget(1).share(Infinity);
      return requested((req) => readBody(req, { maxBytes: 1e9, share }));
    },
  ],
  ['an answer', () => ofReader(createAnswerReader(PLAN))],
  ['an error', () => ofReader(createErrorReader())],
  ['an answer of blanks', () => ofReader(readerFor({ ...PLAN, mode: 'relay' }, {}))],
  ['a parked answer', () => through(bufferEvents)],
  ['what waits for a decoder', () => through((inner) => decoded(inner, 'gzip'))],
  [
    'what was sent',
    () => {
      const sent = createSentBytes();
      return { take: (piece) => sent.add(piece), held: sent };
    },
  ],
];

const PIECES = 30_000;
/** One piece kept by itself takes at least a hundred: 3 MB, more than what all take that keep the bytes alone. */
const MAX_HELD_BYTES = 1024 * 1024;
const MAX_HELD_BY_ALL_BYTES = 2 * MAX_HELD_BYTES;

/** By how much memory grows while each takes its pieces. */
async function heldBytes(makes: readonly (() => Keeper)[]): Promise<number> {
  const read = Buffer.alloc(PIECES, ' ');
  const take = ({ take: one }: Keeper, count: number) => {
    for (let at = 0; at < count; at += 1) one(read.subarray(at, at + 1));
  };
  // Once for what its code takes when it is first run.
  const first = makes.map((make) => make());
  for (const keeper of first) take(keeper, 1000);
  const keepers = makes.map((make) => make());
  const before = await memoryBytes();
  for (const keeper of keepers) take(keeper, PIECES);
  const grown = (await memoryBytes()) - before;
  expect([...keepers.map(({ held }) => held), read]).toHaveLength(makes.length + 1);
  return grown;
}

test('bodies and streams in pieces of one byte take the memory of their bytes', async () => {
  if ((await heldBytes(KEEPERS.map(([, make]) => make))) < MAX_HELD_BY_ALL_BYTES) return;
  // To collect what is garbage takes long, so one by one only to name who it is.
  for (const [what, make] of KEEPERS) {
    expect([what, Math.floor((await heldBytes([make])) / MAX_HELD_BYTES)]).toEqual([what, 0]);
  }
  expect.unreachable('together they take too much');
});

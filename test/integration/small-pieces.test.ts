import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { createStreamMeter, createWholeMeter } from '../../main/agent/server/counters.ts';
import { runTool } from '../../main/agent/telemetry/tool-process.ts';
import { createSentBytes } from '../../main/gateway/chat/relay.ts';
import {
  createAnswerReader,
  createErrorReader,
  createSniffingReader,
  createStreamReader,
} from '../../main/gateway/upstream/body-readers.ts';
import { CHAT_COMPLETIONS, CHAT_STREAM } from '../../main/gateway/protocols/chat/endpoint.ts';
import { createBodyBudget } from '../../main/platform/body-budget.ts';
import { decoded } from '../../main/platform/http/decoding.ts';
import { fetchBody } from '../../main/platform/http/fetch-body.ts';
import { bufferEvents } from '../../main/platform/http/handover.ts';
import { readBody } from '../../main/platform/http/server.ts';
import type { Exchange, HttpClient, ResponseListener } from '../../main/platform/http/types.ts';
import { createManualClock } from '../support/clock.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Memory that is in use once nobody is left who holds any of the rest. */
async function memoryBytes(): Promise<number> {
  // What the test before held is let go of in the turns after it.
  for (let turn = 0; turn < 5; turn += 1) {
    await nextTurn();
    collect();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Takes the pieces of a body, and keeps what it is made of alive. */
interface Keeper {
  readonly take: (piece: Buffer) => void;
  readonly held: unknown;
}

const nobody: ResponseListener = { onHead() {}, onData() {}, onEnd() {}, onFailure() {} };

const exchangeOf = (listener: ResponseListener): Exchange => ({
  listener,
  pause() {},
  resume() {},
  abort() {},
  hasLeft: () => true,
});

/** A call whose answer comes from the test. */
function answered(call: (http: HttpClient) => unknown): Keeper {
  const exchange = exchangeOf(nobody);
  const http: HttpClient = {
    send(_request, listener) {
      exchange.listener = listener;
      return exchange;
    },
    dropIdle() {},
    close() {},
  };
  const held = [call(http), exchange];
  exchange.listener.onHead(200, {});
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

const clock = createManualClock();
const small = { origin: 'http://a', path: '/', headers: [], timeoutMs: 1000, maxBytes: 1e9 };

const PLAN = { format: CHAT_COMPLETIONS.answer, followsToolResult: () => false };

const KEEPERS: readonly [what: string, make: () => Keeper][] = [
  ['a request', () => requested((req) => readBody(req, { maxBytes: 1e9 }))],
  [
    'a request with a share of a budget',
    () => {
      const share = createBodyBudget(1).share(Infinity);
      return requested((req) => readBody(req, { maxBytes: 1e9, share }));
    },
  ],
  ['an answer', () => ofReader(createAnswerReader(PLAN, false))],
  ['an error', () => ofReader(createErrorReader())],
  [
    'an answer of blanks',
    () => ofReader(createSniffingReader({ json: createErrorReader, events: createErrorReader })),
  ],
  [
    'a parked answer',
    () => {
      const exchange = exchangeOf(nobody);
      const held = [bufferEvents(exchange), exchange];
      return { take: (piece) => exchange.listener.onData(piece), held };
    },
  ],
  [
    'what waits for a decoder',
    () => {
      const inner = exchangeOf(nobody);
      const held = [decoded(inner, 'gzip'), inner];
      return { take: (piece) => inner.listener.onData(piece), held };
    },
  ],
  [
    'what was sent',
    () => {
      const sent = createSentBytes();
      return { take: (piece) => sent.add(piece), held: sent };
    },
  ],
  [
    "the agent's view of an answer",
    () => {
      const meter = createWholeMeter();
      return { take: (piece) => meter.see(piece, 0), held: meter };
    },
  ],
  [
    "the agent's view of a stream",
    () => {
      const meter = createStreamMeter();
      return { take: (piece) => meter.see(piece, 0), held: meter };
    },
  ],
  ['a small document', () => answered((http) => fetchBody(small, { http, clock }))],
  [
    'an answer of the registry',
    () =>
      answered((http) =>
        fetchBody(
          { ...small, json: Buffer.from('') },
          { http, clock, signal: new AbortController().signal },
        ),
      ),
  ],
  [
    'the output of a tool',
    () => {
      let take: (piece: Buffer) => void = () => {};
      const tool = {
        command: 'tool',
        args: [],
        timeoutMs: 1000,
        maxBytes: 1e9,
      };
      const held = runTool(
        tool,
        {
          startTool(_command, _args, onData) {
            take = onData;
            return { kill() {}, ended: new Promise(() => {}) };
          },
          clock,
        },
        new AbortController().signal,
      );
      return { take: (piece) => take(piece), held: [held, () => take] };
    },
  ],
];

const PIECES = 60_000;
/** One piece kept by itself takes at least a hundred: 6 MB, more than what all take that keep the bytes alone. */
const MAX_HELD_BYTES = 1024 * 1024;
const MAX_HELD_BY_ALL_BYTES = 4 * MAX_HELD_BYTES;

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

test('bodies, streams and documents in pieces of one byte take the memory of their bytes', async () => {
  if ((await heldBytes(KEEPERS.map(([, make]) => make))) < MAX_HELD_BY_ALL_BYTES) return;
  // To collect what is garbage takes long, so one by one only to name who it is.
  for (const [what, make] of KEEPERS) {
    expect([what, Math.floor((await heldBytes([make])) / MAX_HELD_BYTES)]).toEqual([what, 0]);
  }
  expect.unreachable('together they take too much');
});

test('bodies that announce 32 MiB take the memory of the bytes that have come', async () => {
  const before = await memoryBytes();
  const keepers = Array.from({ length: 50 }, () =>
    requested((req) => {
      req.headers['content-length'] = String(32 * 1024 * 1024);
      return readBody(req, { maxBytes: 1e9 });
    }),
  );
  for (const { take } of keepers) for (let piece = 0; piece < 3; piece += 1) take(Buffer.from(' '));
  expect((await memoryBytes()) - before).toBeLessThan(MAX_HELD_BYTES);
  expect(keepers).toHaveLength(50);
});

const COMMENT = ':\n\n';

test('events that are held until content comes take the memory of their bytes', async () => {
  const reader = createStreamReader(CHAT_STREAM, { ...PLAN, mode: 'relay' });
  const comments = Math.floor((64 * 1024) / COMMENT.length);
  const before = await memoryBytes();
  for (let event = 0; event < comments; event += 1) reader.push(Buffer.from(COMMENT));
  expect((await memoryBytes()) - before).toBeLessThan(MAX_HELD_BYTES);
  const content = 'data: {"choices":[{"delta":{"content":"x"}}]}\n\n';
  const start = reader.push(Buffer.from(content));
  if (start.kind !== 'commit') throw new Error(start.kind);
  expect(start.held.bytes.toString()).toBe(COMMENT.repeat(comments) + content);
  expect(start.held.ends).toHaveLength(comments + 1);
});

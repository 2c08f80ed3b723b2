import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Arena, KEY } from './arena.ts';

/** The statuses that the callers of an attack got; `closed`: a connection that ended without one, `open`: one that did not. */
export type Counts = Readonly<Record<string, number>>;

export interface Attack {
  readonly name: string;
  /** What the callers may get; anything else is a finding. */
  readonly allowed: RegExp;
  readonly callers: number;
  /** One caller; everything random comes from `random`. */
  readonly call: (caller: Caller, random: () => number) => Promise<void>;
  readonly isLoop?: boolean;
  /** Its callers wait to be closed, which takes so long at most; before that a connection may be open. */
  readonly closedAfterMs?: number;
}

/** A bare socket to the gateway. */
export interface Caller {
  readonly socket: Socket;
  /** Writes at the gateway's speed; false once the connection is closed. */
  write(bytes: string | Buffer): Promise<boolean>;
}

const JSON_TYPE = 'Content-Type: application/json\r\n';
const head = (path: string, fields: string, method = 'POST') =>
  `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${fields}\r\n`;
const chat = (fields: string) => head('/v1/chat/completions', `${JSON_TYPE}${fields}`);
const WITH_KEY = `Authorization: Bearer ${KEY}\r\n`;
const BODY = JSON.stringify({ stream: true, messages: [{ role: 'user', content: 'hi' }] });
const whole = (fields = '') =>
  `${chat(`${WITH_KEY}${fields}Content-Length: ${BODY.length}\r\n`)}${BODY}`;
/** Asks the upstream of the arena for more than the sockets on the way take. */
const FLOOD = 'X-Request-Id: flood\r\n';
const CHUNKED = 'Transfer-Encoding: chunked\r\n';
/** One read of a server takes 64 KiB. */
const ONE_BYTE_CHUNKS = Buffer.from('1\r\na\r\n'.repeat(11_000));

async function repeat(caller: Caller, bytes: string | Buffer, times: number): Promise<void> {
  for (let time = 0; time < times; time += 1) if (!(await caller.write(bytes))) return;
}

export const ATTACKS: readonly Attack[] = [
  {
    name: 'bodies of 30 MB',
    allowed: /^(200|503|closed)$/,
    callers: 50,
    async call(caller) {
      const text = BODY.replace('"hi"', `"${'x'.repeat(64 * 1024)}"`);
      const rest = ' '.repeat(64 * 1024);
      const length = text.length + rest.length * 460;
      await caller.write(
        chat(`${WITH_KEY}Content-Length: ${length}\r\nConnection: close\r\n`) + text,
      );
      await repeat(caller, rest, 460);
    },
  },
  {
    name: 'one-byte chunks to the enrolment route',
    allowed: /^(400|413|closed)$/,
    callers: 150,
    async call(caller) {
      await caller.write(head('/api/v1/providers/enroll', `${JSON_TYPE}${CHUNKED}`));
      await repeat(caller, ONE_BYTE_CHUNKS, 20);
    },
  },
  {
    name: 'one-byte chunks without a key',
    allowed: /^(401|400|closed)$/,
    callers: 150,
    async call(caller) {
      await caller.write(chat(CHUNKED));
      await repeat(caller, ONE_BYTE_CHUNKS, 20);
    },
  },
  {
    name: 'heads that never end',
    closedAfterMs: 22_000,
    allowed: /^(408|431|closed)$/,
    callers: 300,
    async call(caller, random) {
      await caller.write('GET / HTTP/1.1\r\n');
      for (let field = 0; field < 10; field += 1) {
        await sleep(300 * random());
        if (!(await caller.write(`x-${field}: a\r\n`))) return;
      }
    },
  },
  {
    name: 'bodies that stall',
    closedAfterMs: 22_000,
    allowed: /^(503|408|closed)$/,
    callers: 100,
    async call(caller) {
      await caller.write(chat(`${WITH_KEY}Content-Length: 30000000\r\n`));
    },
  },
  {
    name: 'callers that read nothing',
    closedAfterMs: 600_000,
    allowed: /^(200|closed)$/,
    callers: 50,
    async call(caller) {
      caller.socket.pause();
      await caller.write(whole(FLOOD));
    },
  },
  {
    name: 'half-closed callers',
    allowed: /^200$/,
    callers: 50,
    async call(caller) {
      caller.socket.end(whole());
      await new Promise((resolve) => caller.socket.on('close', resolve));
    },
  },
  {
    name: 'what is no HTTP',
    allowed: /^(400|closed)$/,
    callers: 300,
    async call(caller, random) {
      const bytes = Array.from({ length: 200 }, () => Math.floor(256 * random()));
      await caller.write(Buffer.from([1, ...bytes, 10, 10]));
    },
  },
  {
    name: 'a loop',
    allowed: /^(502|503|508)$/,
    callers: 5,
    isLoop: true,
    async call(caller) {
      await caller.write(whole('Connection: close\r\n'));
    },
  },
];

/** Runs one attack to its end, or to its deadline. */
export async function run(
  attack: Attack,
  { port }: Arena,
  random: () => number,
  { callers, limitMs }: { readonly callers: number; readonly limitMs: number },
): Promise<Counts> {
  const counts: Record<string, number> = {};
  await Promise.all(
    Array.from({ length: callers }, async () => {
      const status = await outcome(attack, port, random, limitMs);
      counts[status] = (counts[status] ?? 0) + 1;
    }),
  );
  return counts;
}

async function outcome(
  { call }: Attack,
  port: number,
  random: () => number,
  limitMs: number,
): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  let text = '';
  // The end of a stream is of no interest, so only the beginning is kept.
  socket.on('data', (part: Buffer) => (text += text.length < 2000 ? part.toString('latin1') : ''));
  socket.on('error', () => {});
  const closed = new Promise<'closed'>((resolve) => {
    socket.on('end', () => socket.end());
    socket.on('close', () => resolve('closed'));
  });
  const write = (bytes: string | Buffer) =>
    new Promise<boolean>((resolve) => {
      if (socket.destroyed) resolve(false);
      else socket.write(bytes, (error) => resolve(error === undefined || error === null));
    });
  const timer = new AbortController();
  const limit = sleep(limitMs, 'open' as const, { signal: timer.signal }).catch(
    () => 'open' as const,
  );
  const end = await Promise.race([
    call({ socket, write }, random).then(() => closed),
    closed,
    limit,
  ]);
  timer.abort();
  socket.destroy();
  const [, status] = /^(?:HTTP\/1\.1 1\d\d [^]*?\r\n\r\n)*HTTP\/1\.1 (\d{3})/.exec(text) ?? [];
  return status ?? end;
}

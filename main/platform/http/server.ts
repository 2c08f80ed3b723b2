import { IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { BodyShare } from '../body-budget.ts';
import { ByteBuffer } from '../byte-buffer.ts';
import type { Clock } from '../clock.ts';

type ListenResult =
  | { readonly kind: 'listening'; readonly port: number }
  /** `absent`: this machine has no such address. `taken`: another program has the port, perhaps for a moment. */
  | {
      readonly kind: 'failed';
      readonly absent: boolean;
      readonly taken: boolean;
      readonly message: string;
    };

/** Binds a server. A port in use and a missing address are results; it does not reject. */
export function listen(server: Server, host: string, port: number): Promise<ListenResult> {
  return new Promise((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const absent = error.code === 'EADDRNOTAVAIL' || error.code === 'EAFNOSUPPORT';
      const taken = error.code === 'EADDRINUSE';
      resolve({ kind: 'failed', absent, taken, message: describe(error, host, port) });
    });
    server.listen({ host, port }, () => {
      server.removeAllListeners('error');
      const { port: bound } = server.address() as AddressInfo;
      resolve({ kind: 'listening', port: bound });
    });
  });
}

function describe(error: NodeJS.ErrnoException, host: string, port: number): string {
  switch (error.code) {
    case 'EADDRINUSE':
      return `Port ${port} on ${host} is taken by another program; stop that one or choose another port.`;
    case 'EACCES':
      return `Port ${port} on ${host} may not be used by this user; choose one above 1023.`;
    case 'EADDRNOTAVAIL':
      return `This machine has no address ${host}.`;
    default:
      return `${host}:${port} cannot be used: ${error.code ?? error.message}.`;
  }
}

/** A host as written in a URL: an IPv6 address in brackets. */
export function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/** How long the rest of a body is still read after the request was answered. */
const REST_MS = 2000;

/** Closes the connection of an answered request if its body does not end soon. */
export function closeUnread(req: IncomingMessage, clock: Clock): void {
  const { socket } = req;
  if (req instanceof MeteredRequest && req.isCut) socket.destroySoon();
  if (req.complete || socket.destroyed) return;
  const cancelTimer = clock.after(REST_MS, () => void socket.destroy());
  req.on('close', cancelTimer);
}

/** What to do with a body that still arrives after its request was answered. */
export interface RestPlan {
  readonly clock: Clock;
  /** The connection is closed once more than this has come over the wire. */
  readonly maxRestBytes: number;
}

/**
 * Ends a response that was written while the request body still arrives, and closes the connection. Closing it
 * at once would reset it, and the sender would lose the response unread; so up to `maxRestBytes` of the rest are
 * read and dropped first, for at most 2 s.
 */
export function endAfterRest(
  req: IncomingMessage,
  res: ServerResponse,
  { clock, maxRestBytes }: RestPlan,
): void {
  if (req.readableEnded || maxRestBytes === 0) {
    res.end();
    return;
  }
  const close = () => {
    cancelTimer();
    res.end();
  };
  const cancelTimer = clock.after(REST_MS, close);
  const { socket } = req;
  const maxBytesRead = socket.bytesRead + maxRestBytes;
  req.on('end', close).on('close', close).on(TINY_PIECES, close);
  req.on('data', () => {
    if (socket.bytesRead > maxBytesRead) close();
  });
  req.resume();
}

const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/i;

/** Whether a host name or address is this machine's loopback. */
export function isLoopbackHost(host: string): boolean {
  return LOOPBACK_HOST.test(host);
}

/** Whether a host stands for all addresses of this machine. */
export function isWildcardHost(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

interface OutsideAddress {
  readonly address: string;
  /** Of its network interface, such as `eth0`. */
  readonly interfaceName: string;
}

/** Names that Docker, libvirt, VirtualBox, VMware, Hyper-V and WSL give to networks inside this machine. */
const VIRTUAL =
  /^(docker|podman|br-|veth|virbr|vboxnet|vmnet|lxc|lxd|cni|bridge\d)|vEthernet|VirtualBox|VMware|Hyper-V|WSL/i;
/** VirtualBox's own network, whose name on Windows may be any. */
const VIRTUAL_ADDRESS = /^192\.168\.56\./;
const TUNNEL = /^(utun|tun|tap|wg|ppp|zt)|tailscale|zerotier|wireguard|vpn/i;
/** Tailscale's addresses, and those of providers that share one (RFC 6598). */
const TUNNEL_ADDRESS = /^100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\./;
/** Given by a machine to itself where no network gave it one (RFC 3927). */
const LINK_LOCAL = /^169\.254\./;

/** How unlikely it is that others in the same room reach the address; interfaces are listed in no useful order. */
function remoteness({ address, interfaceName }: OutsideAddress): number {
  if (LINK_LOCAL.test(address)) return 3;
  if (VIRTUAL.test(interfaceName) || VIRTUAL_ADDRESS.test(address)) return 2;
  return TUNNEL.test(interfaceName) || TUNNEL_ADDRESS.test(address) ? 1 : 0;
}

/** The addresses of this machine for others in its networks: IPv4 first, then as likely as others reach them. */
export function outsideAddresses(interfaces = networkInterfaces()): readonly OutsideAddress[] {
  const outside = Object.entries(interfaces)
    .flatMap(([interfaceName, addresses]) =>
      (addresses ?? []).map((each) => ({ ...each, interfaceName })),
    )
    // A link-local IPv6 address is useless without its interface.
    .filter(({ internal, address }) => !internal && !address.startsWith('fe80'));
  return outside
    .toSorted((a, b) => a.family.localeCompare(b.family) || remoteness(a) - remoteness(b))
    .map(({ address, interfaceName }) => ({ address, interfaceName }));
}

/** An address of this machine for others in its network, IPv4 preferred; null if it has none. */
export const outsideAddress = (): string | null => outsideAddresses()[0]?.address ?? null;

/**
 * Why a body is not taken. `no_room`: the budget for bodies in flight is used up; `tiny_pieces`: so small that it must
 * be an attack; `too_slow`: it fell `SLACK_MS` behind `MIN_BYTES_PER_S`.
 */
export type BodyRefusal = 'too_large' | 'no_room' | 'tiny_pieces' | 'too_slow';

interface BodyLimits {
  readonly maxBytes: number;
  readonly clock: Clock;
  /** The caller gives it back after use. */
  readonly share?: BodyShare;
}

/** A quarter of the slowest uplink of a phone (GPRS with one time slot: 9 kbit/s). */
const MIN_BYTES_PER_S = 256;
/** Longer than any pause of a live sender. */
const SLACK_MS = 20_000;
/** For the callers of such a body. */
export const TOO_SLOW_BODY = `Timed out: the body stopped arriving, or came at less than ${MIN_BYTES_PER_S} bytes a second.`;

/**
 * Reads a whole body; `aborted`: the caller went away while sending. After a refusal the rest is read and dropped,
 * until the caller closes the connection.
 */
export async function readBody(
  req: IncomingMessage,
  limits: BodyLimits,
): Promise<Buffer | BodyRefusal | 'aborted'> {
  // A body that came with its head is there once the parser has gone through the read.
  await null;
  return bodyAtHand(req, limits) ?? bodyToCome(req, limits);
}

/** Null unless all of it has come already: then neither listeners nor a timer are needed (5 % of a plain request). */
function bodyAtHand(req: IncomingMessage, { maxBytes, share }: BodyLimits): Buffer | null {
  const bytes = Number(req.headers['content-length']);
  const isWhole = bytes > 0 && req.readableLength === bytes && bytes <= maxBytes;
  if (!isWhole || share?.hold(bytes, bytes) === false) return null;
  return req.read() as Buffer;
}

function bodyToCome(
  req: IncomingMessage,
  { maxBytes, clock, share }: BodyLimits,
): Promise<Buffer | BodyRefusal | 'aborted'> {
  return new Promise((resolve) => {
    const length = req.headers['content-length'];
    const announcedBytes = length === undefined ? null : Number(length);
    const body = new ByteBuffer(announcedBytes ?? undefined);
    let dueTicks = clock.ticks() + SLACK_MS;
    let isOver = false;

    const end = (read: Buffer | BodyRefusal | 'aborted') => {
      if (isOver) return;
      isOver = true;
      cancelTimer();
      resolve(read);
    };
    const refuse = (refusal: BodyRefusal) => {
      if (isOver) return;
      body.clear();
      share?.giveBack();
      end(refusal);
    };
    const onTime = () => {
      const remainingMs = dueTicks - clock.ticks();
      if (remainingMs <= 0) refuse('too_slow');
      else cancelTimer = clock.after(remainingMs, onTime);
    };
    let cancelTimer = clock.after(SLACK_MS, onTime);
    const hold = (bytes: number) => {
      if (Math.max(bytes, announcedBytes ?? 0) > maxBytes) refuse('too_large');
      else if (share?.hold(bytes, announcedBytes) === false) refuse('no_room');
    };

    hold(0);
    req.on('data', (chunk: Buffer) => {
      if (isOver) return;
      // No burst earns more than the slack: who sends fast and then stops is waited for no longer than others.
      const earnedMs = (chunk.length / MIN_BYTES_PER_S) * 1000;
      dueTicks = Math.min(dueTicks + earnedMs, clock.ticks() + SLACK_MS);
      hold(body.length + chunk.length);
      if (!isOver) body.add(chunk);
    });
    req.on('end', () => end(body.take()));
    req.on('close', () => end('aborted'));
    req.on('error', () => end('aborted'));
    req.on(TINY_PIECES, () => refuse('tiny_pieces'));
  });
}

/** This many pieces are accepted of any body, because small bodies often come in small pieces. */
const MIN_PIECES = 256;
/** Beyond that, pieces that are smaller on average are refused. */
const MIN_AVERAGE_BYTES = 16;

/** Emitted once by a request whose body comes in pieces of a few bytes; nothing more of it is read. */
const TINY_PIECES = 'tinyPieces';

/** One read of a socket. libuv serves one connection for up to 32 reads in a row, while all others wait. */
const MAX_TURN_BYTES = 64 * 1024;

/**
 * A request whose body takes turns with other connections, and which is cut off if it comes in tiny chunks. Node's
 * parser works through a whole read of 64 KiB, which holds 10,900 chunks of one byte, before anything else runs.
 */
export class MeteredRequest extends IncomingMessage {
  #pieces = 0;
  #bytes = 0;
  #isCut = false;
  #turnBytes = 0;
  #isYielding = false;
  /** More was asked for while it yielded. */
  #isWanted = false;

  /** Whether it was stopped; its connection is of no further use. */
  get isCut(): boolean {
    return this.#isCut;
  }

  override push(chunk: unknown, encoding?: BufferEncoding): boolean {
    if (this.#isCut) return false;
    if (!Buffer.isBuffer(chunk)) return super.push(chunk, encoding);
    this.#pieces += 1;
    this.#bytes += chunk.length;
    if (this.#pieces <= MIN_PIECES || this.#bytes >= this.#pieces * MIN_AVERAGE_BYTES) {
      return this.#take(chunk);
    }
    this.#isCut = true;
    skipRestOfRead(this.socket);
    this.emit(TINY_PIECES);
    // Makes the parser stop reading from the socket.
    return false;
  }

  override _read(size: number): void {
    if (this.#isYielding) this.#isWanted = true;
    else super._read(size);
  }

  #take(chunk: Buffer): boolean {
    const isTaken = super.push(chunk);
    this.#turnBytes += chunk.length;
    if (!this.#isYielding && this.#turnBytes >= MAX_TURN_BYTES) this.#yieldTurn(isTaken);
    return isTaken && !this.#isYielding;
  }

  #yieldTurn(isWanted: boolean): void {
    this.#isYielding = true;
    this.#isWanted = isWanted;
    setImmediate(() => {
      this.#isYielding = false;
      this.#turnBytes = 0;
      if (this.#isWanted && !this.#isCut && !this.complete) this._read(0);
    });
  }
}

/** The part of Node's parser that is used here; it is undocumented, so only speed may depend on it. */
interface Parser extends Readonly<Record<number, unknown>> {
  readonly constructor: { readonly kOnBody?: number };
}

/** Without its callback the parser takes 0.1 µs for a chunk instead of 0.7 µs. */
function skipRestOfRead(socket: Socket & { readonly parser?: Parser | null }): void {
  const { parser } = socket;
  const slot = parser?.constructor.kOnBody;
  if (parser === undefined || parser === null || slot === undefined) return;
  const onBody = parser[slot];
  Object.assign(parser, { [slot]: null });
  // Node reuses parsers for other connections, in later turns.
  setImmediate(() => Object.assign(parser, { [slot]: onBody }));
}

import { connect } from 'node:net';
import { onTestFinished } from 'vitest';
import { CHAT } from './client.ts';
import { createLooks, untilSo } from './looks.ts';

export type Wire = Awaited<ReturnType<typeof openWire>>;

/**
 * Connects a bare socket to the gateway at `url`, which sends exactly the bytes it is told to, and reads when it wants;
 * with `keep` false what comes is counted but not kept.
 */
export async function openWire(url: string, keep = true) {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  onTestFinished(() => void socket.destroy());
  let text = '';
  let bytes = 0;
  const looks = createLooks();
  socket.on('data', (part: Buffer) => {
    bytes += part.length;
    text = keep ? text + part.toString('latin1') : part.toString('latin1').slice(-64);
    looks.look();
  });
  // A refused upload ends in a reset; what was read before it counts.
  let isBroken = false;
  socket.on('error', () => (isBroken = true));
  const closed = new Promise<string>((resolve) => socket.on('close', () => resolve(text)));
  await new Promise<void>((resolve) => socket.once('connect', () => resolve()));
  return {
    send: (part: string | Buffer) => void socket.write(part),
    /** Resolves when what came so far holds `wanted`. */
    received: (wanted: string) => untilSo(looks, () => text.includes(wanted)),
    /** All that came, once the gateway has closed the connection. */
    closed,
    bytesReceived: () => bytes,
    /** Whether a write has failed, which a paused caller sees of a closed connection. */
    isBroken: () => isBroken,
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    /** Goes away without a word. */
    leave: () => void socket.destroy(),
  };
}

/** The head of a chat completion, as it goes over the wire. */
export function chatHead(
  headers: Readonly<Record<string, string | number>>,
  method = 'POST',
): string {
  const all = { host: '127.0.0.1', 'content-type': 'application/json', ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${CHAT} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

/** A whole chat completion, as it goes over the wire. */
export function chatBytes(body: unknown): string {
  const text = JSON.stringify(body);
  return chatHead({ 'content-length': Buffer.byteLength(text) }) + text;
}

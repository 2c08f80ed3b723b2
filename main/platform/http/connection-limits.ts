import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { canonicalIp, isLoopback, networkOf } from '../network-guard.ts';
import type { Connections } from './connections.ts';

/** How many connections of one address may be open on which no request has been admitted yet. */
export interface UnprovedLimits {
  readonly remote: number;
  /** All programs of this machine together. */
  readonly loopback: number;
}

export const UNPROVED_LIMITS: UnprovedLimits = { remote: 128, loopback: 1024 };

const unproved = new WeakMap<Socket, () => void>();

/** Takes a connection out of the limit, because a request on it was admitted. */
export function markProved(socket: Socket): void {
  unproved.get(socket)?.();
}

/**
 * Limits the connections of each address that have had no request admitted. Beyond the limit the oldest is closed, an
 * idle one first; otherwise connections that send nothing could lock out all others behind the same address.
 */
export function limitUnproved(
  server: Server,
  connections: Connections,
  limits: UnprovedLimits,
): void {
  const byNetwork = new Map<string, Set<Socket>>();
  server.on('connection', (socket: Socket) => {
    const address = canonicalIp(socket.remoteAddress ?? '') ?? '';
    const network = networkOf(address);
    const sockets = byNetwork.get(network) ?? new Set();
    byNetwork.set(network, sockets);
    const max = isLoopback(address) ? limits.loopback : limits.remote;
    if (sockets.size >= max) close(leastUseful(sockets, connections));
    sockets.add(socket);
    const remove = () => {
      unproved.delete(socket);
      sockets.delete(socket);
      if (sockets.size === 0 && byNetwork.get(network) === sockets) byNetwork.delete(network);
    };
    unproved.set(socket, remove);
    socket.on('close', remove);
  });
}

function leastUseful(sockets: ReadonlySet<Socket>, connections: Connections): Socket | undefined {
  const [oldest] = sockets;
  return [...sockets].find((socket) => connections.get(socket)?.size === 0) ?? oldest;
}

function close(socket: Socket | undefined): void {
  if (socket === undefined) return;
  markProved(socket);
  socket.destroy();
}

/** The part of `process.report` that is used here; Node's types leave it out. */
interface ProcessReport {
  excludeNetwork?: boolean;
  getReport(): {
    readonly userLimits?: { readonly open_files?: { readonly soft: number | 'unlimited' } };
  };
}

/** The share of file descriptors for callers; the rest is for upstreams, files and the database. */
const CALLERS_SHARE = 0.75;

/** How many connections the limit of open files leaves for callers; null where there is no such limit, as on Windows. */
export function maxConnections(): number | null {
  const report: ProcessReport = process.report;
  // Otherwise the report looks up the host names of open connections, one after the other.
  report.excludeNetwork = true;
  const files = Number(report.getReport().userLimits?.open_files?.soft);
  return Number.isFinite(files) ? Math.max(1, Math.floor(files * CALLERS_SHARE)) : null;
}

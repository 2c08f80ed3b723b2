import { createHmac } from 'node:crypto';
import type { Socket } from 'node:net';
import { canonicalIp } from './network-guard.ts';

/** One end of a connection. */
interface EndPoint {
  readonly address: string | undefined;
  readonly port: number | undefined;
}

/** The end at which a connection came in. */
export const ownEnd = ({ localAddress, localPort }: Socket): EndPoint => ({
  address: localAddress,
  port: localPort,
});

/** The end to which a connection was opened. */
export const otherEnd = ({ remoteAddress, remotePort }: Socket): EndPoint => ({
  address: remoteAddress,
  port: remotePort,
});

/** 256 bits in hex: no proof answers two of them. */
export const isNonce = (text: unknown): text is string =>
  typeof text === 'string' && /^[0-9a-f]{64}$/.test(text);

/**
 * Proves knowledge of the control token without showing it. It holds for one nonce, and for one end of the gateway's own
 * connections: who takes another address or port and passes the nonce on gets a proof that is of no use there.
 */
export function controlProof(
  controlToken: string,
  nonce: string,
  { address, port }: EndPoint,
): string {
  const at = `${canonicalIp(address ?? '') ?? ''} ${port ?? ''}`;
  return createHmac('sha256', controlToken)
    .update(`switchyard control proof\n${at}\n${nonce}`)
    .digest('hex');
}

/** An address of the gateway's machine, and the network interface that has it. */
export interface InterfaceAddress {
  readonly address: string;
  readonly interfaceName: string;
}

/** `GET /api/v1/sharing`. */
export interface Sharing {
  /** As set; a change may wait for a restart. */
  readonly host: string;
  /** The gateway's address for other machines now; loopback if none can reach it. */
  readonly url: string;
  readonly isShared: boolean;
  /** Addresses that other machines can reach. */
  readonly addresses: readonly InterfaceAddress[];
}

/** The answer to `PUT /api/v1/sharing`. */
export interface SharingChange {
  readonly applied: 'now' | 'at_restart';
  /** For other machines, once it applies. */
  readonly url: string;
}

/** An address on the LAN. */
export interface LanAddress {
  readonly address: string;
  readonly port: number;
}

/**
 * Takes a received datagram. `reply` sends one back to its sender, from the address at which it arrived. `sender`: the
 * address from which it came.
 */
export type Receive = (datagram: Uint8Array, reply: (datagram: Uint8Array) => void, sender: string) => void;

/** An open port, in each address family that this machine has. */
export interface LanPort {
  /** Sends a datagram. `failed` is called if it certainly did not leave this machine. */
  send(datagram: Uint8Array, to: LanAddress, failed: (error: Error) => void): void;
  close(): void;
  /** Resolves when the port is closed, either by `close` or by an error of its socket. */
  readonly closed: Promise<Error | undefined>;
}

/** The LAN, limited to datagrams to individual addresses. */
export interface Lan {
  /** Opens a port; 0 means any free one. Rejects if it cannot be opened in any address family. */
  open(port: number, receive: Receive): Promise<LanPort>;
}

/**
 * Names the path to an address: this machine's interface if there is no router ("eth0"), otherwise the network of the
 * address ("192.168.7.0/24"). Machines with the same path are usually out of reach together.
 */
export type PathTo = (address: string) => string;

/** Whether no router is on the path. */
export const isDirect = (path: string): boolean => !path.includes("/");

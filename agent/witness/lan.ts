/** An address on the LAN. */
export interface LanAddress {
  readonly address: string;
  readonly port: number;
}

/** Takes a datagram that came in. `reply` sends one back to its sender, from the address that it came to. */
export type Receive = (datagram: Uint8Array, reply: (datagram: Uint8Array) => void) => void;

/** An open port, in each address family that this machine has. */
export interface LanPort {
  /** Sends a datagram. `failed` is called if it certainly did not leave this machine. */
  send(datagram: Uint8Array, to: LanAddress, failed: (error: Error) => void): void;
  close(): void;
  /** Resolves when the port is closed: by `close`, or by an error of its socket. */
  readonly closed: Promise<Error | undefined>;
}

/** The LAN, as far as datagrams to single addresses go. */
export interface Lan {
  /** Opens a port; 0: any free one. Rejects if it cannot be opened in any address family. */
  open(port: number, receive: Receive): Promise<LanPort>;
}

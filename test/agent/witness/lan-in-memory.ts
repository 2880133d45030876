import type { Lan, LanAddress, Receive } from "../../../agent/witness/lan.ts";

interface Sent {
  readonly datagram: Uint8Array;
  readonly from: string;
  readonly to: string;
}

/** A LAN whose datagrams arrive at once or are lost, and that any host can write to. */
export class LanInMemory {
  readonly sent: Sent[] = [];
  /** Whether datagrams arrive. */
  isUp = true;
  /** Whether the next datagram is lost on its way. */
  loses: () => boolean = () => false;
  /** Why no port can be opened; undefined: one can. */
  refusal: Error | undefined;
  /** Why nothing can be sent to an address; absent: it can. */
  readonly barred = new Map<string, Error>();
  readonly #ports = new Map<string, { receive: Receive; end(error: Error | undefined): void }>();
  #free = 40_000;

  get open(): readonly string[] {
    return [...this.#ports.keys()];
  }

  /** The LAN as the machine at this address has it. */
  of(address: string): Lan {
    return {
      open: (port, receive) => {
        if (this.refusal) return Promise.reject(this.refusal);
        const at = `${address}:${port === 0 ? this.#free++ : port}`;
        const { promise: closed, resolve } = Promise.withResolvers<Error | undefined>();
        const end = (error: Error | undefined): void => {
          this.#ports.delete(at);
          resolve(error);
        };
        this.#ports.set(at, { receive, end });
        return Promise.resolve({
          closed,
          close: () => end(undefined),
          send: (datagram: Uint8Array, to: LanAddress, failed: (error: Error) => void) => {
            const error = this.barred.get(to.address);
            if (error) failed(error);
            else this.write(datagram, at, `${to.address}:${to.port}`);
          },
        });
      },
    };
  }

  /** Sends a datagram, regardless of its claimed sender. */
  write(datagram: Uint8Array, from: string, to: string): void {
    this.sent.push({ datagram, from, to });
    if (this.isUp && !this.loses()) this.#ports.get(to)?.receive(datagram, (answer) => this.write(answer, to, from));
  }

  /** The port's socket fails. */
  break(at: string, error: Error): void {
    this.#ports.get(at)?.end(error);
  }
}

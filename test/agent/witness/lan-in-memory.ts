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
  /** Addresses whose cable is unplugged: nothing arrives from or at them. */
  readonly unplugged = new Set<string>();
  readonly #ports = new Map<string, { receive: Receive; end(error: Error | undefined): void }>();
  #free = 40_000;

  get open(): readonly string[] {
    return [...this.#ports.keys()];
  }

  /** The LAN as a machine with these addresses has it; each is on a network of its own. */
  of(...addresses: readonly string[]): Lan {
    return {
      open: (port, receive) => {
        if (this.refusal) return Promise.reject(this.refusal);
        const number = port === 0 ? this.#free++ : port;
        const own = addresses.map((address) => `${address}:${number}`);
        const { promise: closed, resolve } = Promise.withResolvers<Error | undefined>();
        const end = (error: Error | undefined): void => {
          for (const at of own) this.#ports.delete(at);
          resolve(error);
        };
        for (const at of own) this.#ports.set(at, { receive, end });
        return Promise.resolve({
          closed,
          close: () => end(undefined),
          send: (datagram: Uint8Array, to: LanAddress, failed: (error: Error) => void) => {
            const error = this.barred.get(to.address);
            const near = own.find((at) => networkOf(at) === networkOf(to.address)) ?? own[0] ?? "";
            if (error) failed(error);
            else this.write(datagram, near, `${to.address}:${to.port}`);
          },
        });
      },
    };
  }

  /** Sends a datagram, regardless of its claimed sender. */
  write(datagram: Uint8Array, from: string, to: string): void {
    this.sent.push({ datagram, from, to });
    if (!this.isUp || this.loses() || this.unplugged.has(addressOf(from)) || this.unplugged.has(addressOf(to))) return;
    for (const at of this.#receivers(to))
      this.#ports.get(at)?.receive(datagram, (answer) => this.write(answer, at, from), addressOf(from));
  }

  /** Where a datagram arrives: an address that ends in 255 is that of everyone on its network. */
  #receivers(to: string): readonly string[] {
    const [address, number] = [addressOf(to), to.slice(to.indexOf(":"))];
    if (!address.endsWith(".255")) return [to];
    return [...this.#ports.keys()].filter(
      (at) => at.endsWith(number) && networkOf(at) === networkOf(address) && !this.unplugged.has(addressOf(at)),
    );
  }

  /** The port's socket fails. */
  break(at: string, error: Error): void {
    this.#ports.get(at)?.end(error);
  }
}

const addressOf = (at: string): string => at.split(":")[0] ?? at;

/** Its first three numbers: also what a machine calls the path to it. */
export const networkOf = (address: string): string => address.split(".").slice(0, 3).join(".");

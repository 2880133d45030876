import type { Millis } from "../../../agent/base/clock.ts";
import type { Random } from "../../../agent/base/random.ts";
import type { Lan, LanAddress, LanPort, Receive } from "../../../agent/witness/lan.ts";
import type { SimProcess } from "./sim-process.ts";
import type { VirtualTime } from "./virtual-time.ts";

const latency: Millis = 1;
const firstFreePort = 40_000;
/** The address that reaches everyone on the LAN. */
export const broadcast = "10.9.0.255";

/** An open port of a process. */
interface Opened {
  readonly process: SimProcess;
  readonly edge: LanEdge;
  readonly port: number;
  readonly receive: Receive;
}

/** The LAN of a site: datagrams arrive, unless an edge on their way is cut or loses them, or no process listens. */
export class SimLan {
  readonly time: VirtualTime;
  readonly ports = new Map<string, Opened>();
  hasGateway = true;
  #free = firstFreePort;

  constructor(time: VirtualTime) {
    this.time = time;
  }

  freePort(): number {
    return this.#free++;
  }
}

/** A board's connection to the LAN. */
export class LanEdge {
  readonly #lan: SimLan;
  #address: string;
  readonly #cuts = new Set<object>();
  /** Each says whether the next datagram is lost here. */
  readonly #losses = new Set<() => boolean>();

  constructor(lan: SimLan, address: string) {
    this.#lan = lan;
    this.#address = address;
  }

  get address(): string {
    return this.#address;
  }

  /** The board gets another address; its open ports go on. */
  move(address: string): void {
    const { ports } = this.#lan;
    for (const [at, opened] of [...ports]) {
      if (opened.edge !== this) continue;
      ports.delete(at);
      ports.set(`${address}:${opened.port}`, opened);
    }
    this.#address = address;
  }

  /** Cuts the board off the LAN; the returned function ends it. */
  cut(): () => void {
    const cut = {};
    this.#cuts.add(cut);
    return () => this.#cuts.delete(cut);
  }

  /** From now on, so many datagrams from and to the board are lost; the returned function ends it. */
  lose(share: number, random: Random): () => void {
    const loses = (): boolean => random.next() < share;
    this.#losses.add(loses);
    return () => this.#losses.delete(loses);
  }

  /** The router of the LAN answers whoever is not cut off. */
  gatewayAnswers(): Promise<boolean> {
    return Promise.resolve(this.#cuts.size === 0 && this.#lan.hasGateway);
  }

  /** The LAN as a process on the board has it. */
  lanOf(process: SimProcess): Lan {
    return {
      open: (port, receive) => {
        const number = port === 0 ? this.#lan.freePort() : port;
        const at = `${this.address}:${number}`;
        const taken = this.#lan.ports.get(at);
        if (taken && !taken.process.isDead) return Promise.reject(new Error(`bind EADDRINUSE ${at}`));
        const opened: Opened = { process, edge: this, port: number, receive };
        this.#lan.ports.set(at, opened);
        return Promise.resolve(this.#port(opened));
      },
    };
  }

  #port(opened: Opened): LanPort {
    const at = (): string => `${this.address}:${opened.port}`;
    let ended = (_error: Error | undefined): void => {};
    const closed = new Promise<Error | undefined>((resolve) => {
      ended = resolve;
    });
    return {
      closed,
      send: (datagram, { address, port }: LanAddress) => this.#send(datagram, `${address}:${port}`, at()),
      close: () => {
        if (this.#lan.ports.get(at()) === opened) this.#lan.ports.delete(at());
        ended(undefined);
      },
    };
  }

  #loses(): boolean {
    return this.#cuts.size > 0 || [...this.#losses].some((loses) => loses());
  }

  #send(datagram: Uint8Array, to: string, from: string): void {
    if (this.#loses()) return;
    const { time, ports } = this.#lan;
    const port = to.slice(to.indexOf(":"));
    time.at(time.now + latency, () => {
      if (to === `${broadcast}${port}`) {
        for (const at of [...ports.keys()].filter((one) => one.endsWith(port))) this.#deliver(datagram, at, from);
      } else this.#deliver(datagram, to, from);
    });
  }

  #deliver(datagram: Uint8Array, to: string, from: string): void {
    const target = this.#lan.ports.get(to);
    if (target === undefined || target.process.isDead || target.edge.#loses()) return;
    const reply = (answer: Uint8Array): void => target.edge.#send(answer, from, to);
    target.process.deliver(() => target.receive(datagram, reply, this.address));
  }
}

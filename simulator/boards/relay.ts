import { createServer, connect as dial, type Server, type Socket } from "node:net";
import type { Ambient } from "../../agent/base/ambient.ts";
import type { Millis } from "../../agent/base/clock.ts";
import { RelayLane } from "./relay-lane.ts";

/**
 * State of a board's link. silent: nothing arrives and neither side gets an error, as with an unplugged cable; bytes in
 * flight arrive once it is plugged in again. refused: connections are reset, as by a firewall.
 */
export type LinkState =
  | { readonly is: "up" /** Added to each round trip. */; readonly delay: Millis }
  | { readonly is: "silent" }
  | { readonly is: "refused" };

export const linkUp: LinkState = { is: "up", delay: 0 };

/** Maximum number of connections; more are refused, because a board has only one agent and one kubelet. */
const maxConnections = 256;

/**
 * The link of one board to the site API: a separate loopback port, used by the board's kubelet and its agent. It
 * forwards bytes without interpreting HTTP.
 */
export class Relay {
  readonly #ambient: Pick<Ambient, "clock">;
  readonly #target: number;
  readonly #circuits = new Set<Circuit>();
  #state: LinkState = linkUp;

  constructor(ambient: Pick<Ambient, "clock">, options: { readonly target: number }) {
    this.#ambient = ambient;
    this.#target = options.target;
  }

  /** Listens on a free port. */
  async listen(): Promise<{ readonly port: number; close(): Promise<void> }> {
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => this.#accept(socket));
    await listening(server);
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("the relay has no port");
    return { port: address.port, close: () => this.#close(server) };
  }

  set(state: LinkState): void {
    this.#state = state;
    if (state.is === "refused") this.reset();
    for (const circuit of this.#circuits) circuit.apply(state);
  }

  /** Breaks every connection now; new ones are handled according to the link's state. */
  reset(): void {
    for (const circuit of this.#circuits) circuit.destroy();
  }

  #accept(near: Socket): void {
    near.on("error", ignored);
    if (this.#state.is === "refused" || this.#circuits.size >= maxConnections) {
      near.resetAndDestroy();
      return;
    }
    const circuit = new Circuit(this.#ambient, near, this.#target, () => this.#circuits.delete(circuit));
    this.#circuits.add(circuit);
    circuit.apply(this.#state);
  }

  async #close(server: Server): Promise<void> {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    this.reset();
    await closed;
  }
}

/** One connection from the board, and its counterpart to the API, which is opened as soon as the link is up. */
class Circuit {
  readonly #ambient: Pick<Ambient, "clock">;
  readonly #near: Socket;
  readonly #target: number;
  readonly #ended: () => void;
  #lanes: readonly RelayLane[] = [];
  #far: Socket | undefined;

  constructor(ambient: Pick<Ambient, "clock">, near: Socket, target: number, ended: () => void) {
    this.#ambient = ambient;
    this.#near = near;
    this.#target = target;
    this.#ended = ended;
    near.on("close", (broken) => this.#closed(broken));
  }

  apply(state: LinkState): void {
    const up = state.is === "up";
    if (up && this.#far === undefined) this.#connect();
    // Each direction gets half of the delay of a round trip.
    for (const lane of this.#lanes) lane.set({ open: up, delay: up ? state.delay / 2 : 0 });
  }

  destroy(): void {
    this.#ended();
    for (const lane of this.#lanes) lane.stop();
    this.#near.resetAndDestroy();
    this.#far?.resetAndDestroy();
  }

  /** After a clean end, bytes still in flight reach the other side. */
  #closed(broken: boolean): void {
    if (broken || (this.#near.closed && this.#far?.closed !== false)) this.destroy();
  }

  #connect(): void {
    const far = dial({ host: "127.0.0.1", port: this.#target, allowHalfOpen: true });
    far.pause();
    far.on("error", ignored);
    far.on("close", (broken) => this.#closed(broken));
    this.#far = far;
    this.#lanes = [new RelayLane(this.#ambient, this.#near, far), new RelayLane(this.#ambient, far, this.#near)];
  }
}

const listening = (server: Server): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });

/** Ignores the error of a broken connection, because a broken connection is also closed, and `close` handles both. */
const ignored = (): void => {};

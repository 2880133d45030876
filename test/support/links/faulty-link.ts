import { createServer, connect as dial, type Server, type Socket } from "node:net";
import { SeededChance } from "../load-chance.ts";

/** The properties of the link from now on. */
export interface Weather {
  /** One way, in milliseconds. */
  readonly delay?: number;
  /** In each direction; undefined: as fast as possible. */
  readonly bytesPerSecond?: number;
  /** The share of segments that are lost. TCP resends them after 200 ms, 400 ms, …, and later segments wait. */
  readonly loss?: number;
  /** Nothing arrives and no error is reported; sent data arrives afterwards. */
  readonly silent?: boolean;
  /** New connections are reset. */
  readonly refused?: boolean;
}

const segment = 1460;
const firstResend = 200;
const mostUnderWay = 64 * 1024;

/**
 * A link with faults between a board and its API server: a TCP port on loopback. It works on the byte stream; lost segments
 * appear as in TCP: all data arrives, later and in bursts.
 */
export class FaultyLink {
  readonly #target: number;
  readonly #chance: SeededChance;
  readonly #circuits = new Set<Circuit>();
  readonly #sockets = new Set<Socket>();
  #opened = 0;
  #server: Server | undefined;
  #weather: Weather = {};

  constructor(target: number, seed: number) {
    this.#target = target;
    this.#chance = new SeededChance(seed);
  }

  async listen(): Promise<number> {
    const server = createServer({ allowHalfOpen: true }, (near) => this.#accept(near));
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("the link has no port");
    return address.port;
  }

  /** How many connections were opened so far. */
  get opened(): number {
    return this.#opened;
  }

  set(weather: Weather): void {
    this.#weather = weather;
    for (const circuit of this.#circuits) circuit.clear();
  }

  reset(): void {
    for (const circuit of this.#circuits) circuit.reset();
  }

  /** Simulates a router that drops the state of all connections: their data is lost, and none of them ends. */
  forget(): void {
    for (const circuit of this.#circuits) circuit.forget();
    this.#circuits.clear();
  }

  async close(): Promise<void> {
    const server = this.#server;
    if (!server) return;
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #accept(near: Socket): void {
    near.on("error", () => undefined);
    if (this.#weather.refused) {
      near.resetAndDestroy();
      return;
    }
    this.#opened++;
    const far = dial({ host: "127.0.0.1", port: this.#target, allowHalfOpen: true });
    far.on("error", () => undefined);
    for (const socket of [near, far]) {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    }
    const circuit = new Circuit(near, far, { weather: () => this.#weather, lost: (share) => this.#isLost(share) });
    this.#circuits.add(circuit);
    near.on("close", () => this.#circuits.delete(circuit));
  }

  #isLost(share: number): boolean {
    return this.#chance.below(1_000_000) < share * 1_000_000;
  }
}

interface Conditions {
  readonly weather: () => Weather;
  readonly lost: (share: number) => boolean;
}

class Circuit {
  readonly #near: Socket;
  readonly #far: Socket;
  readonly #lanes: readonly Lane[];

  constructor(near: Socket, far: Socket, conditions: Conditions) {
    this.#near = near;
    this.#far = far;
    this.#lanes = [new Lane(near, far, conditions), new Lane(far, near, conditions)];
    near.on("close", () => far.destroy());
    far.on("close", () => near.destroy());
  }

  clear(): void {
    for (const lane of this.#lanes) lane.clear();
  }

  reset(): void {
    this.#near.resetAndDestroy();
    this.#far.resetAndDestroy();
  }

  forget(): void {
    for (const lane of this.#lanes) lane.forget();
    // The other end notices after its own delay, as behind a real router.
    this.#near.removeAllListeners("close");
    this.#far.removeAllListeners("close");
  }
}

/** One direction of a connection: data arrives in the order in which it was sent, as the link's conditions permit. */
class Lane {
  readonly #to: Socket;
  readonly #from: Socket;
  readonly #conditions: Conditions;
  #queue: { readonly bytes: Buffer | undefined; readonly due: number }[] = [];
  #underWay = 0;
  #free = 0;
  #timer: NodeJS.Timeout | undefined;
  #forgotten = false;

  constructor(from: Socket, to: Socket, conditions: Conditions) {
    this.#from = from;
    this.#to = to;
    this.#conditions = conditions;
    from.on("data", (bytes: Buffer) => this.#take(bytes));
    from.on("end", () => this.#take(undefined));
    from.on("close", () => clearTimeout(this.#timer));
  }

  forget(): void {
    this.#forgotten = true;
    clearTimeout(this.#timer);
    this.#queue = [];
    this.#from.resume();
  }

  /** Called when the conditions change: the old ones no longer delay data in flight. */
  clear(): void {
    const due = performance.now() + (this.#conditions.weather().delay ?? 0);
    this.#queue = this.#queue.map((parcel) => ({ ...parcel, due: Math.min(parcel.due, due) }));
    this.#free = 0;
    this.#wake();
  }

  #wake(): void {
    clearTimeout(this.#timer);
    this.#move();
  }

  #take(bytes: Buffer | undefined): void {
    if (this.#forgotten) return;
    const { delay = 0, bytesPerSecond, loss = 0 } = this.#conditions.weather();
    const size = bytes?.length ?? 0;
    let time = bytesPerSecond === undefined ? 0 : (size / bytesPerSecond) * 1000;
    for (let at = 0; at < size; at += segment) {
      for (let wait = firstResend; this.#conditions.lost(loss); wait *= 2) time += wait;
    }
    this.#free = Math.max(this.#free, performance.now()) + time;
    this.#queue.push({ bytes, due: this.#free + delay });
    this.#underWay += size;
    if (this.#underWay > mostUnderWay) this.#from.pause();
    this.#wake();
  }

  #move(): void {
    for (;;) {
      const [first] = this.#queue;
      if (first === undefined || this.#forgotten || this.#conditions.weather().silent) return;
      const wait = first.due - performance.now();
      if (wait > 0) {
        this.#timer = setTimeout(() => this.#move(), wait);
        return;
      }
      this.#queue.shift();
      this.#underWay -= first.bytes?.length ?? 0;
      if (first.bytes === undefined) this.#to.end();
      else this.#to.write(first.bytes);
      if (this.#underWay <= mostUnderWay) this.#from.resume();
    }
  }
}

import type { Millis } from "../../../agent/base/clock.ts";
import type { HttpRequest, HttpResponse } from "../../../agent/client/transport/transport.ts";
import { TransportError } from "../../../agent/client/transport/transport-error.ts";
import type { SeededRandom } from "../../support/seeded-random.ts";
import { Exchange } from "./exchange.ts";
import type { Recorder } from "./recorder.ts";
import type { SimLan } from "./sim-lan.ts";
import type { SimProcess } from "./sim-process.ts";
import type { SimulatedApi } from "./simulated-api.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** A temporary fault of an edge. Several may be active at once. */
export type Impairment =
  /** Requests and answers are lost without an error, in both directions. */
  | { readonly is: "silent" }
  /** New connections are refused, and open ones reset. */
  | { readonly is: "refused" }
  | { readonly is: "slow"; readonly delay: Millis }
  /** Requests take effect, but their answers are lost. */
  | { readonly is: "answers lost" }
  /** Open watches deliver nothing; everything else works. */
  | { readonly is: "watches stalled" }
  /** Open watches are reset and new ones refused; everything else works. */
  | { readonly is: "watches refused"; readonly retryAfter?: number }
  /** Requests for this collection are refused, lists and watches alike; everything else works. */
  | { readonly is: "collection refused"; readonly path: string; readonly retryAfter?: number }
  /** Requests of a method are refused whose path begins so, watches with them. */
  | { readonly is: "requests refused"; readonly method: string; readonly path: string; readonly status: number }
  /** A share of the requests is refused before having any effect. */
  | { readonly is: "storm"; readonly status: number; readonly share: number; readonly retryAfter: number | undefined };

export interface Refusal {
  readonly status: number;
  readonly retryAfter: number | undefined;
}

/** The end of a silent connection: its bytes arrive late, or it is reset. */
export type Healing = "late" | "reset";

type Way = "there" | "back";

/** Data on an edge. */
interface Parcel {
  readonly arrive: () => void;
  /** waits: it is at the end of the edge, and what was sent before it is not. */
  state: "travels" | "held" | "waits";
}

export interface World {
  readonly time: VirtualTime;
  readonly api: SimulatedApi;
  readonly recorder: Recorder;
  readonly lan: SimLan;
}

const ways: readonly Way[] = ["there", "back"];

/** How long a silent connection with pings is considered alive: the idle time plus the wait for the answer. */
const pingsOut: Millis = 45_000;

/** The path of one program on one board to the API server, with its faults. */
export class Edge {
  readonly world: World;
  readonly latency: Millis;
  readonly #random: SeededRandom;
  readonly #pings: boolean;
  readonly #impairments = new Set<Impairment>();
  readonly #open = new Set<Exchange>();
  /** Processes that consider their connection up. */
  readonly #connected = new Set<SimProcess>();
  /** Requests that wait for a connection. */
  readonly #dialing = new Set<Exchange>();
  /** Data in transit, in sending order; while the edge is silent, what would arrive is held. */
  readonly #parcels: Record<Way, Parcel[]> = { there: [], back: [] };
  #heldPieces: (() => void)[] = [];
  readonly #lastArrival = { there: 0, back: 0 };

  constructor(
    world: World,
    deps: { readonly random: SeededRandom; readonly latency: Millis; readonly pings: boolean },
  ) {
    this.world = world;
    this.#random = deps.random;
    this.latency = deps.latency;
    this.#pings = deps.pings;
  }

  get isClean(): boolean {
    return this.#impairments.size === 0;
  }

  send(process: SimProcess, request: HttpRequest): Promise<HttpResponse> {
    return new Promise((resolve, reject) => {
      const exchange = new Exchange(this, { process, request, resolve, reject });
      if (exchange.isOver) return;
      this.#open.add(exchange);
      this.#dial(exchange);
    });
  }

  /** Starts a fault; the returned function ends it. */
  impair(impairment: Impairment, healing: Healing): () => void {
    this.#impairments.add(impairment);
    if (impairment.is === "refused") this.reset("the connection was reset");
    if (impairment.is === "watches refused") this.#resetWatches();
    if (impairment.is === "silent" && this.#pings) {
      const since = this.world.time.now;
      this.world.time.at(since + pingsOut, () => {
        if (this.#impairments.has(impairment)) this.reset("the connection does not answer");
      });
    }
    return () => {
      if (!this.#impairments.delete(impairment)) return;
      if (impairment.is === "silent" && !this.#has("silent")) this.#heal(healing);
      if (impairment.is === "watches stalled" && !this.#has("watches stalled")) this.#flow(healing);
    };
  }

  /** Breaks all connections of the edge; both sides are notified. */
  reset(why: string): void {
    for (const way of ways) this.#parcels[way] = this.#parcels[way].filter(({ state }) => state === "travels");
    this.#heldPieces = [];
    this.#connected.clear();
    for (const exchange of [...this.#open]) {
      if (this.#dialing.has(exchange)) continue;
      exchange.breakOff(new TransportError("Reset", why));
    }
  }

  /** A process has ended, which ends its connection. */
  forget(process: SimProcess): void {
    this.#connected.delete(process);
    for (const exchange of [...this.#open]) if (exchange.process === process) exchange.abandon();
  }

  over(exchange: Exchange): void {
    this.#open.delete(exchange);
    this.#dialing.delete(exchange);
  }

  openOf(process: SimProcess): number {
    let count = 0;
    for (const exchange of this.#open) if (exchange.process === process) count++;
    return count;
  }

  /** Sends something along the edge. It arrives after a delay or never, and overtakes nothing that was sent before it. */
  travel(way: Way, arrive: () => void): void {
    const parcel: Parcel = { arrive, state: "travels" };
    this.#parcels[way].push(parcel);
    this.#carry(way, parcel);
  }

  #carry(way: Way, parcel: Parcel): void {
    const { time } = this.world;
    parcel.state = "travels";
    const at = Math.max(time.now + this.latency + this.#delay(), this.#lastArrival[way]);
    this.#lastArrival[way] = at;
    // Data that is due at this moment is delivered first.
    if (at === time.now && this.#parcels[way][0] === parcel) this.#carried(way, parcel);
    else time.at(at, () => this.#carried(way, parcel));
  }

  #carried(way: Way, parcel: Parcel): void {
    if (this.#has("silent")) {
      parcel.state = "held";
      return;
    }
    parcel.state = "waits";
    while (this.#parcels[way][0]?.state === "waits") this.#parcels[way].shift()?.arrive();
  }

  /** Sends a piece of a watch back. */
  travelPiece(arrive: () => void): void {
    if (this.#has("watches stalled")) this.#heldPieces.push(() => this.travel("back", arrive));
    else this.travel("back", arrive);
  }

  get losesAnswers(): boolean {
    return this.#has("answers lost");
  }

  /** The refusal that a request meets in transit, if any. */
  refusal({ isWatch, method, path }: Pick<Exchange, "isWatch" | "method" | "path">): Refusal | undefined {
    for (const impairment of this.#impairments) {
      if (isWatch && impairment.is === "watches refused") return { status: 500, retryAfter: impairment.retryAfter };
    }
    for (const impairment of this.#impairments) {
      if (impairment.is === "collection refused" && path.split("?")[0] === impairment.path)
        return { status: 429, retryAfter: impairment.retryAfter };
      if (impairment.is === "requests refused" && method === impairment.method && path.startsWith(impairment.path))
        return { status: impairment.status, retryAfter: undefined };
      if (impairment.is === "storm" && this.#random.next() < impairment.share) return impairment;
    }
    return undefined;
  }

  #resetWatches(): void {
    for (const exchange of [...this.#open])
      if (exchange.isWatch) exchange.breakOff(new TransportError("Reset", "the watch was reset"));
  }

  #dial(exchange: Exchange): void {
    if (this.#has("refused") || (!this.world.api.isUp && !this.#has("silent"))) {
      exchange.fail(new TransportError("ConnectionRefused", "the connection was refused"));
    } else if (this.#has("silent") && !this.#connected.has(exchange.process)) {
      this.#dialing.add(exchange);
    } else {
      this.#connected.add(exchange.process);
      exchange.sendNow();
    }
  }

  #heal(healing: Healing): void {
    if (healing === "reset") this.reset("the connection was reset");
    for (const way of ways) {
      const held = this.#parcels[way].filter(({ state }) => state === "held");
      for (const parcel of held) this.#carry(way, parcel);
    }
    const dialing = [...this.#dialing];
    this.#dialing.clear();
    for (const exchange of dialing) exchange.process.deliver(() => exchange.isOver || this.#dial(exchange));
  }

  #flow(healing: Healing): void {
    if (healing === "reset") this.reset("the connection was reset");
    const pieces = this.#heldPieces;
    this.#heldPieces = [];
    for (const go of pieces) go();
  }

  #delay(): Millis {
    let delay = 0;
    for (const impairment of this.#impairments) {
      if (impairment.is === "slow") delay += impairment.delay * (0.5 + this.#random.next());
    }
    return delay;
  }

  #has(is: Impairment["is"]): boolean {
    for (const impairment of this.#impairments) if (impairment.is === is) return true;
    return false;
  }
}

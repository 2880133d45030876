import type { Millis } from "../../../agent/base/clock.ts";
import type { HttpRequest, HttpResponse } from "../../../agent/client/transport.ts";
import { TransportError } from "../../../agent/client/transport-error.ts";
import type { SeededRandom } from "../../support/seeded-random.ts";
import { Exchange } from "./exchange.ts";
import type { Recorder } from "./recorder.ts";
import type { SimProcess } from "./sim-process.ts";
import type { SimulatedApi } from "./simulated-api.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** What is wrong with an edge for a while. Several may be wrong at once. */
export type Impairment =
  /** Requests and answers vanish without a word, in both directions. */
  | { readonly is: "silent" }
  /** New connections are refused, those that are open are reset. */
  | { readonly is: "refused" }
  | { readonly is: "slow"; readonly delay: Millis }
  /** Requests have their effect, and nobody hears of it. */
  | { readonly is: "answers lost" }
  /** Watches that are open say nothing any more; everything else works. */
  | { readonly is: "watches stalled" }
  /** A share of the requests is refused before it has an effect. */
  | { readonly is: "storm"; readonly status: number; readonly share: number; readonly retryAfter: number | undefined };

/** What becomes of a connection that was silent: its bytes arrive late after all, or it is found dead. */
export type Healing = "late" | "reset";

type Way = "there" | "back";

export interface World {
  readonly time: VirtualTime;
  readonly api: SimulatedApi;
  readonly recorder: Recorder;
}

/** How long a silent connection is believed in where somebody pings it: idle time and the wait for the answer. */
const pingsOut: Millis = 45_000;

/** The way of one program on one board to the API server, with all that can be wrong with it. */
export class Edge {
  readonly world: World;
  readonly latency: Millis;
  readonly #random: SeededRandom;
  readonly #pings: boolean;
  readonly #impairments = new Set<Impairment>();
  readonly #open = new Set<Exchange>();
  /** Processes whose connection is up, as far as they know. */
  readonly #connected = new Set<SimProcess>();
  /** Requests that wait for a connection. */
  readonly #dialing = new Set<Exchange>();
  /** What is on the way while the edge is silent, in the order in which it was sent. */
  #held: (() => void)[] = [];
  #heldPieces: (() => void)[] = [];
  readonly #lastArrival = { there: 0, back: 0 };
  readonly #travelling = { there: 0, back: 0 };

  constructor(
    world: World,
    parts: { readonly random: SeededRandom; readonly latency: Millis; readonly pings: boolean },
  ) {
    this.world = world;
    this.#random = parts.random;
    this.latency = parts.latency;
    this.#pings = parts.pings;
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

  /** Begins now; the answer ends it. */
  impair(impairment: Impairment, healing: Healing): () => void {
    this.#impairments.add(impairment);
    if (impairment.is === "refused") this.reset("the connection was reset");
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

  /** Every connection of the edge is gone, and both sides know it. */
  reset(why: string): void {
    this.#held = [];
    this.#heldPieces = [];
    this.#connected.clear();
    for (const exchange of [...this.#open]) {
      if (this.#dialing.has(exchange)) continue;
      exchange.breakOff(new TransportError("Reset", why));
    }
  }

  /** A process is gone, and its connection with it. */
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

  /** Something travels along the edge, and arrives some day or never. Nothing overtakes what went before it. */
  travel(way: Way, arrive: () => void): void {
    const { time } = this.world;
    const carried = (): void => {
      if (this.#has("silent")) this.#held.push(() => this.travel(way, arrive));
      else arrive();
    };
    const at = Math.max(time.now + this.latency + this.#delay(), this.#lastArrival[way]);
    this.#lastArrival[way] = at;
    // What is to arrive at this very moment, and has not yet, goes first.
    if (at === time.now && this.#travelling[way] === 0) {
      carried();
      return;
    }
    this.#travelling[way]++;
    time.at(at, () => {
      this.#travelling[way]--;
      carried();
    });
  }

  /** A piece of a watch travels back. */
  travelPiece(arrive: () => void): void {
    if (this.#has("watches stalled")) this.#heldPieces.push(() => this.travel("back", arrive));
    else this.travel("back", arrive);
  }

  get losesAnswers(): boolean {
    return this.#has("answers lost");
  }

  /** The refusal that a request meets on its way, if it meets one. */
  refusal(): { readonly status: number; readonly retryAfter: number | undefined } | undefined {
    for (const impairment of this.#impairments) {
      if (impairment.is === "storm" && this.#random.next() < impairment.share) return impairment;
    }
    return undefined;
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
    const held = this.#held;
    this.#held = [];
    for (const go of held) go();
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

import type { Millis } from "../../../agent/base/clock.ts";
import type { HoldScope } from "../../../agent/holds/holds.ts";
import type { Setting } from "./schedule.ts";

/** One request of an agent that may change something. `order` counts everything that is sent or takes effect. */
export interface Write {
  readonly process: number;
  readonly board: string;
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly sentAt: Millis;
  readonly order: number;
  /** When and how the API server answered; undefined: it never arrived. */
  effect: Effect | undefined;
}

export interface Effect {
  readonly at: Millis;
  readonly order: number;
  readonly status: number;
  /** The object that it is about, as it was before; undefined: there was none, or nobody asks. */
  readonly before: string | undefined;
}

/** The site's Lease, after a write or a deletion. */
export interface LeaseState {
  readonly at: Millis;
  readonly order: number;
  /** Undefined: by hand. */
  readonly by: Write | undefined;
  /** Undefined: it is gone. */
  readonly lease: LeaseContent | undefined;
}

export interface LeaseContent {
  readonly uid: string;
  readonly holder: string;
  readonly term: number;
  readonly seconds: number;
  readonly budget: string | undefined;
}

export interface NodeState {
  readonly at: Millis;
  /** Its resourceVersion. */
  readonly version: string;
  readonly ready: string;
  /** "key:effect" */
  readonly taints: readonly string[];
}

/** From an instant to another; undefined: it goes on. */
export interface Span {
  readonly from: Millis;
  until: Millis | undefined;
}

/** A watch as its reader's side of the connection saw it. */
export interface Listening {
  readonly resource: "nodes" | "leases" | "pods";
  readonly from: Millis;
  until: Millis | undefined;
  /** When a piece reached it, and what it said. */
  readonly heard: { readonly at: Millis; readonly text: string }[];
}

export interface ProcessHistory {
  readonly id: number;
  readonly board: string;
  readonly startedAt: Millis;
  readonly listening: Listening[];
  /** The highest term that any answer told it, by the order of its delivery. */
  readonly toldTerms: { readonly order: number; readonly term: number }[];
}

/** From the answer that it is in force, until it was taken back or its time is over. */
export interface OrderedHold {
  readonly what: { readonly freeze: HoldScope } | { readonly pause: string };
  readonly from: Millis;
  until: Millis;
}

/** All that the API server and the network know of what happened. Nothing in it is an agent's word. */
export interface History {
  readonly setting: Setting;
  readonly writes: Write[];
  readonly leases: LeaseState[];
  readonly nodes: Map<string, NodeState[]>;
  /** When a sign of life of a board took effect. */
  readonly signs: Map<string, Millis[]>;
  readonly processes: Map<number, ProcessHistory>;
  /** When a board had no power, or its own way to the API server was not in order. */
  readonly troubles: Map<string, Span[]>;
  /** When the API server could not serve anybody. */
  readonly outages: Span[];
  /** What operators were told to be held. */
  readonly holds: OrderedHold[];
  /** What was said at the level "error", and what nobody caught. */
  readonly complaints: { readonly at: Millis; readonly text: string }[];
}

import type { Millis } from "../../../agent/base/clock.ts";
import type { HoldScope } from "../../../agent/holds/holds.ts";
import type { Setting } from "./schedule.ts";

/** A write request of an agent. `order` numbers all requests and effects. */
export interface Write {
  readonly process: number;
  readonly board: string;
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly sentAt: Millis;
  readonly order: number;
  /** The API server's answer and its time; undefined if the request never arrived. */
  effect: Effect | undefined;
  /** Whether the agent received the answer. */
  isAnswered: boolean;
}

export interface Effect {
  readonly at: Millis;
  readonly order: number;
  readonly status: number;
  /** The former state of its object; undefined if there was none, or if no check needs it. */
  readonly before: string | undefined;
}

/** The site's Lease, after a write or a deletion. */
export interface LeaseState {
  readonly at: Millis;
  readonly order: number;
  /** Undefined for a write by a person. */
  readonly by: Write | undefined;
  /** Undefined: it was deleted. */
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

/** A period; `until` is undefined while it lasts. */
export interface Span {
  readonly from: Millis;
  until: Millis | undefined;
}

/** A fault in a board's own link to the API server, or a time without power. */
export interface Trouble extends Span {
  readonly what: TroubleKind;
}

export type TroubleKind =
  | "no power"
  | "no kubelet"
  | "only the kubelet's link"
  | "the whole link, silent"
  | "the whole link, refused"
  | "the whole link, slow or refusing";

/** A watch, seen from its reader's side of the connection. */
export interface Listening {
  readonly resource: "nodes" | "leases" | "pods";
  readonly from: Millis;
  until: Millis | undefined;
  /** The received pieces, with their times. */
  readonly pieces: { readonly at: Millis; readonly text: string }[];
}

export interface ProcessHistory {
  readonly id: number;
  readonly board: string;
  readonly startedAt: Millis;
  /** True if it lost power, was killed or crashed; a process that stops cleanly does not count. */
  isLost: boolean;
  readonly listening: Listening[];
  /** The highest terms in its answers, in order of delivery. */
  readonly toldTerms: { readonly order: number; readonly term: number }[];
}

/** A hold, from its positive answer until it was withdrawn or expired. */
export interface OrderedHold {
  readonly what: { readonly freeze: HoldScope } | { readonly pause: string };
  readonly from: Millis;
  until: Millis;
}

/** An operator's order that confirms a board dead, which stands until the board gives a sign of life. */
export interface Confirmation {
  readonly board: string;
  readonly from: Millis;
  /** When the operator had the answer that it is done; undefined without one. */
  doneAt: Millis | undefined;
}

/** The events as observed by the API server and the network. None is reported by an agent. */
export interface History {
  readonly setting: Setting;
  readonly writes: Write[];
  readonly leases: LeaseState[];
  readonly nodes: Map<string, NodeState[]>;
  /** When a sign of life of a board took effect. */
  readonly signs: Map<string, Millis[]>;
  readonly processes: Map<number, ProcessHistory>;
  /** Periods in which a board had no power or no working link to the API server. */
  readonly troubles: Map<string, Trouble[]>;
  /** Periods in which a board could not ask or answer on the LAN. */
  readonly mute: Map<string, Span[]>;
  /** Periods in which a board was cut off the LAN. */
  readonly lanCuts: Map<string, Span[]>;
  /** Periods in which the API server served no client. */
  readonly outages: Span[];
  /** When the store was restored from a backup. */
  readonly restores: Millis[];
  /** The periods that restores undid, from the backup to the restore. */
  readonly undone: { readonly from: Millis; readonly until: Millis }[];
  /** What power cuts took from the cards of boards: all that they had read between two moments, given as `order`. */
  readonly forgotten: Map<string, { readonly from: number; readonly until: number }[]>;
  /** Holds that were confirmed to operators. */
  readonly holds: OrderedHold[];
  readonly confirmations: Confirmation[];
  /** Releases of the safety valve, from the order until they are certainly over. */
  readonly releases: { readonly from: Millis; until: Millis }[];
  /** Log entries at level "error", and uncaught errors. */
  readonly complaints: { readonly at: Millis; readonly text: string }[];
}

/** A history in which nothing has happened yet. */
export const emptyHistory = (setting: Setting): History => ({
  setting,
  writes: [],
  leases: [],
  nodes: new Map(),
  signs: new Map(),
  processes: new Map(),
  troubles: new Map(),
  mute: new Map(),
  lanCuts: new Map(),
  outages: [],
  restores: [],
  undone: [],
  forgotten: new Map(),
  holds: [],
  confirmations: [],
  releases: [],
  complaints: [],
});

import type { Instant, Millis } from "../base/clock.ts";

/**
 * What the status is made from: plain values that the parts of the program hand over when they are asked. Times are
 * instants of this process; a part that does not exist yet is left out.
 */
export interface Parts {
  readonly now: Instant;
  readonly process: ProcessPart;
  readonly identity: IdentityPart;
  readonly leader?: LeaderPart;
  readonly api?: ApiPart;
  readonly watches?: readonly WatchPart[];
  readonly traffic?: readonly TrafficPart[];
  readonly zones?: readonly ZonePart[];
  readonly eviction?: EvictionPart;
  readonly controllers?: readonly ControllerPart[];
  readonly journal?: JournalPart;
  readonly memory?: MemoryPart;
  readonly board?: { readonly model: string | undefined; readonly ramBytes: number | undefined };
  readonly config?: { readonly files: readonly string[]; readonly warnings: readonly string[] };
  /** The cache was thrown away and listed anew. */
  readonly rebuilt?: { readonly at: Instant; readonly why: string };
  /** Sites that were here first and claim boards of this site too: nothing is done with those. */
  readonly selectionConflicts?: readonly SelectionConflictPart[];
  /** Whatever else a part wants a person to know. */
  readonly problems?: readonly ProblemPart[];
}

export interface SelectionConflictPart {
  readonly site: string;
  /** "namespace/name" of its Lease. */
  readonly lease: string;
  readonly boards: number;
  /** The first few. */
  readonly some: readonly string[];
}

export interface ProcessPart {
  readonly pid: number;
  readonly version: string;
  readonly startedAt: Instant;
  readonly bootId: string;
  /** The board's boot clock at `now`. */
  readonly bootMs: Millis;
  /** Readers call the file stale when it is older. */
  readonly staleAfter: Millis;
  readonly invocationId: string | undefined;
  readonly writeFailures: number;
}

export interface IdentityPart {
  readonly site: string;
  readonly board: string;
  readonly node: string;
  readonly profile: string | undefined;
}

export interface LeaderPart {
  readonly role: "leader" | "standby";
  /** The board that leads; undefined: nobody is known to. */
  readonly holder: string | undefined;
  readonly term: number;
  /** Since when this board knows the holder as such. */
  readonly since: Instant | undefined;
  /** When the Lease was last seen to change. */
  readonly renewed: Instant | undefined;
  readonly duration: Millis;
  readonly renewP95?: Millis | undefined;
  readonly missedRenewals?: number | undefined;
  /** Since when the Lease names nobody. */
  readonly leaderlessSince: Instant | undefined;
}

export interface ApiPart {
  readonly state: "starting" | "up" | "down";
  readonly since: Instant;
  readonly server: string | undefined;
  readonly rtt?: { readonly p50: Millis; readonly p95: Millis } | undefined;
  /** The last failure, while the state is not up. */
  readonly error: ApiProblem | undefined;
}

export interface ApiProblem {
  /** credentials: refused, expired or missing. certificate: theirs is not trusted. forbidden: a permission is missing. */
  readonly kind: "unreachable" | "credentials" | "certificate" | "forbidden";
  readonly message: string;
  readonly hint?: string | undefined;
}

export interface WatchPart {
  readonly resource: string;
  /** failing: it cannot be opened at present. off: a cold standby does not listen. */
  readonly state: "live" | "syncing" | "silent" | "failing" | "off";
  readonly objects: number;
  readonly heard: Instant | undefined;
  readonly lists: number;
  readonly lastList: Instant | undefined;
  readonly restarts: number;
  readonly rejected: number;
  /** Why the last few could not be used. */
  readonly rejectedWhy: readonly string[];
}

export interface TrafficPart {
  readonly resource: string;
  readonly verb: string;
  readonly requests: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

export interface ZonePart {
  readonly name: string;
  readonly state: "Initial" | "Normal" | "PartialDisruption" | "FullDisruption";
  readonly nodes: number;
  readonly ready: number;
  readonly rate: number;
}

export interface EvictionPart {
  readonly queue: number;
  readonly pending: number;
  readonly evicted1h?: number | undefined;
  readonly oldest?: Instant | undefined;
  /** Quarantine after an outage: why harmful acts are held, and since when. */
  readonly held: { readonly why: string; readonly since: Instant } | undefined;
}

export interface ControllerPart {
  readonly name: string;
  readonly state: "running" | "standby" | "off" | "failing";
  readonly queue: number;
  readonly syncP95?: Millis | undefined;
  readonly errors1h?: number | undefined;
  readonly lastError?: string | undefined;
}

export interface JournalPart {
  readonly path: string;
  readonly depth: number;
  readonly dbBytes: number;
  readonly walBytes: number;
}

export interface MemoryPart {
  readonly rssBytes: number | undefined;
  readonly anonymousBytes: number | undefined;
  readonly peakBytes: number | undefined;
  readonly heapUsedBytes: number;
}

export interface ProblemPart {
  readonly type: string;
  /** Where there may be several of a type: the one that it is about. */
  readonly subject?: string | undefined;
  readonly severity: "critical" | "warning" | "info";
  readonly message: string;
  readonly hint?: string | undefined;
}

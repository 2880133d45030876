import type { Instant, Millis } from "../base/clock.ts";
import type { BoardsPart, EvictionPart, JudgementPart, ZonePart } from "./site-parts.ts";

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
  readonly boards?: BoardsPart;
  readonly judgement?: JudgementPart;
  readonly eviction?: EvictionPart;
  readonly controllers?: readonly ControllerPart[];
  readonly journal?: JournalPart;
  readonly memory?: MemoryPart;
  readonly board?: BoardPart;
  readonly config?: ConfigPart;
  readonly clock?: ClockPart;
  /** Left out: no fleet is configured. */
  readonly mqtt?: MqttPart;
  /** What an operator or the calendar holds back at present, as far as this board knows. */
  readonly holds?: HoldsPart;
  /** The last few, newest first. */
  readonly commands?: readonly CommandPart[];
  /** The cache was thrown away and listed anew. */
  readonly rebuilt?: {
    readonly at: Instant;
    readonly why: string;
    /** The API server's store went back to an earlier state. */
    readonly restored?: { readonly hint: string };
  };
  /** Sites that were here first and claim boards of this site too: nothing is done with those. */
  readonly selectionConflicts?: readonly SelectionConflictPart[];
  /** Whatever else a part wants a person to know: what does not follow from the members above (see health.ts). */
  readonly problems?: readonly ProblemPart[];
}

export interface SelectionConflictPart {
  readonly site: string;
  /** "namespace/name" of its Lease. */
  readonly lease: string;
  readonly boards: number;
  /** The first few. */
  readonly some: readonly string[];
  readonly namespaces?: "every" | { readonly count: number; readonly some: readonly string[] } | undefined;
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
  /** Why this process ends, as soon as that is certain. */
  readonly ending?: EndingPart | undefined;
  /** How the former process of this boot ended. */
  readonly previous?: EndingPart | undefined;
}

export interface EndingPart {
  /** stop, memory, command, failure; watchdog, unclean: it had no time to say. */
  readonly cause: string;
  readonly message?: string | undefined;
}

export interface IdentityPart {
  readonly site: string;
  readonly board: string;
  readonly node: string;
  readonly profile: string | undefined;
  readonly fleet?: string | undefined;
}

export interface ClockPart {
  readonly state: "synced" | "unsynced";
  readonly source?: string | undefined;
  /** The API server's clock less ours, by the Date header of an answer. */
  readonly apiSkew?: Millis | undefined;
}

export interface MqttPart {
  readonly state: "starting" | "up" | "down";
  readonly since: Instant;
  readonly server?: string | undefined;
  readonly session: number;
  readonly rtt?: Millis | undefined;
  readonly outbox: {
    readonly state: number;
    readonly response: number;
    readonly event: number;
    readonly oldest?: Millis | undefined;
  };
  /** Messages that the outbox had no room for, since it was made. */
  readonly dropped: number;
  /** The last failure, while the state is not up. */
  readonly error?: { readonly message: string; readonly hint?: string | undefined } | undefined;
}

/** `until` may lie ahead of `now`: an instant of this process, whatever the wall clock said when it was ordered. */
export interface HoldsPart {
  readonly freezes: readonly FreezePart[];
  readonly pauses: readonly PausePart[];
  /** Zones whose silent boards an operator confirmed to be dead. */
  readonly confirmed?: readonly HeldPart[];
  /** Quiet hours: nothing is evicted until then. */
  readonly quietUntil?: Instant | undefined;
}

interface HeldPart {
  /** A zone's or a board's name. */
  readonly target?: string | undefined;
  readonly until: Instant;
  readonly by: string;
  readonly reason?: string | undefined;
}

export interface FreezePart extends HeldPart {
  readonly scope: "site" | "zone" | "board";
}

export interface PausePart extends Omit<HeldPart, "target"> {
  readonly controller: string;
}

export interface CommandPart {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly at: Instant;
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
}

export interface BoardPart {
  readonly model: string | undefined;
  readonly ramBytes: number | undefined;
  readonly compatible?: string | undefined;
  readonly tempC?: number | undefined;
  readonly tempZone?: string | undefined;
  /** What slows the board down now, and what did since its boot: "undervoltage", "frequency-capped", "throttled", "soft-temperature-limit". */
  readonly throttled?: { readonly now: readonly string[]; readonly sinceBoot: readonly string[] } | undefined;
  readonly storage?: StoragePart | undefined;
  /** Of a Jetson's power monitors. */
  readonly rails?: readonly { readonly label: string; readonly milliwatts: number }[] | undefined;
  /** Share of the last ten seconds in which something waited for a disk, in percent. */
  readonly ioPsiSome10?: number | undefined;
  readonly load1?: number | undefined;
}

/** Where the state folder lies. */
export interface StoragePart {
  readonly dev: string | undefined;
  readonly kind: string | undefined;
  /** Share of the expected life that is used up, 0 to 1; only eMMC tells. */
  readonly wear?: number | undefined;
  readonly freeBytes: number | undefined;
  readonly readOnly: boolean;
}

export interface ConfigPart {
  readonly files: readonly string[];
  readonly warnings: readonly string[];
  /** Of the configuration that the fleet desires; left out where it never sent one. */
  readonly desiredVersion?: number | undefined;
  readonly appliedVersion?: number | undefined;
  readonly state?: string | undefined;
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
  /** How the last term of this board ended, while it does not lead. */
  readonly ended?: { readonly at: Instant; readonly why: string } | undefined;
}

export interface ApiPart {
  readonly state: "starting" | "up" | "down";
  readonly since: Instant;
  readonly server: string | undefined;
  readonly rtt?: { readonly p50: Millis; readonly p95: Millis } | undefined;
  /** Requests of the last hour, and those of them that had no answer. */
  readonly requests1h?: number | undefined;
  readonly failed1h?: number | undefined;
  /** How often a watch was opened again in the last hour. */
  readonly restarts1h?: number | undefined;
  /** The last failure, while the state is not up. */
  readonly error: ApiProblem | undefined;
  /** The last outage that is over. */
  readonly lastOutage?: OutagePart | undefined;
}

export interface OutagePart {
  /** Counted since the process began. */
  readonly number: number;
  readonly began: Instant;
  readonly ended: Instant;
  /** The most boards and pods that it held back at one time, as far as this board led. */
  readonly held: { readonly boards: number; readonly pods: number };
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

export interface ControllerPart {
  readonly name: string;
  readonly state: "running" | "standby" | "off" | "failing" | "paused";
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
  /** What the log may have grown to where nobody keeps it from being written back. */
  readonly walExpected?: number | undefined;
  readonly lastCommit?: Instant | undefined;
  readonly fsyncP95?: Millis | undefined;
  /** volatile: the state folder is lost when the board is switched off. */
  readonly persistence?: "persistent" | "volatile" | undefined;
  /** Written within the last day, or within the shorter time since the process began. */
  readonly writtenBytes24h?: number | undefined;
  readonly writtenSpan?: Millis | undefined;
}

export interface MemoryPart {
  readonly rssBytes: number | undefined;
  readonly anonymousBytes: number | undefined;
  readonly peakBytes: number | undefined;
  readonly heapUsedBytes: number;
  /** Beyond the first the agent gives back what it can, beyond the second it starts anew. */
  readonly softBytes?: number | undefined;
  readonly hardBytes?: number | undefined;
  /** off: the kernel limits no memory, whatever the unit says. */
  readonly cgroup?: "on" | "off" | undefined;
  /** Share of the last ten seconds in which something waited for memory, in percent. */
  readonly psiSome10?: number | undefined;
}

export interface ProblemPart {
  readonly type: string;
  /** Where there may be several of a type: the one that it is about. */
  readonly subject?: string | undefined;
  readonly severity: "critical" | "warning" | "info";
  readonly message: string;
  readonly hint?: string | undefined;
}

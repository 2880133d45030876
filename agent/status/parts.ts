import type { Instant, Millis } from "../base/clock.ts";
import type { BoardsPart, EvictionPart, JudgementPart, ZonePart } from "./site-parts.ts";

/**
 * Input of the status: plain values that components provide on request. Times are instants of this process; components
 * that do not exist yet are left out.
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
  /** Absent: no fleet is configured. */
  readonly mqtt?: MqttPart;
  /** Holds and quiet hours in force, as far as this board knows. */
  readonly holds?: HoldsPart;
  /** The last few commands, newest first. */
  readonly commands?: readonly CommandPart[];
  /** Set after the cache was dropped and listed again. */
  readonly rebuilt?: {
    readonly at: Instant;
    readonly why: string;
    /** The API server's store was restored to an earlier state. */
    readonly restored?: { readonly hint: string };
  };
  /** Earlier sites that claim boards or namespaces of this one too; this site leaves those alone. */
  readonly selectionConflicts?: readonly SelectionConflictPart[];
  /** Further problems, which do not follow from the members above (see health.ts). */
  readonly problems?: readonly ProblemPart[];
}

export interface SelectionConflictPart {
  readonly site: string;
  /** "namespace/name" of the other site's Lease. */
  readonly lease: string;
  readonly boards: number;
  /** Names of the first few. */
  readonly some: readonly string[];
  readonly namespaces?: "every" | { readonly count: number; readonly some: readonly string[] } | undefined;
}

export interface ProcessPart {
  readonly pid: number;
  readonly version: string;
  readonly startedAt: Instant;
  readonly bootId: string;
  /** The boot clock at `now`. */
  readonly bootMs: Millis;
  /** Age from which readers consider the file stale. */
  readonly staleAfter: Millis;
  readonly invocationId: string | undefined;
  readonly writeFailures: number;
  /** Why this process ends, once that is certain. */
  readonly ending?: EndingPart | undefined;
  /** How the previous process of this boot ended. */
  readonly previous?: EndingPart | undefined;
}

export interface EndingPart {
  /** stop, memory, storage, command, failure; watchdog and unclean if the process could not record it. */
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
  /** The API server's clock minus ours, from the Date header of an answer. */
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
  /** Messages dropped for lack of room since the outbox was created. */
  readonly dropped: number;
  /** The last failure; absent while the state is up. */
  readonly error?: { readonly message: string; readonly hint?: string | undefined } | undefined;
}

/**
 * `until` may lie after `now`; it is an instant of this process, independent of the wall clock when the hold was
 * ordered.
 */
export interface HoldsPart {
  readonly freezes: readonly FreezePart[];
  readonly pauses: readonly PausePart[];
  /** Zones whose silent boards an operator confirmed dead. */
  readonly confirmed?: readonly HeldPart[];
  /** End of the quiet hours. */
  readonly quietUntil?: Instant | undefined;
}

interface HeldPart {
  /** Name of the zone or board. */
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
  /**
   * Throttling causes, now and since boot: "undervoltage", "frequency-capped", "throttled", "soft-temperature-limit".
   */
  readonly throttled?: { readonly now: readonly string[]; readonly sinceBoot: readonly string[] } | undefined;
  readonly storage?: StoragePart | undefined;
  /** A Jetson's power monitors. */
  readonly rails?: readonly { readonly label: string; readonly milliwatts: number }[] | undefined;
  /** I/O pressure (PSI "some"), percent of the last ten seconds. */
  readonly ioPsiSome10?: number | undefined;
  readonly load1?: number | undefined;
}

/** The storage of the state folder. */
export interface StoragePart {
  readonly dev: string | undefined;
  readonly kind: string | undefined;
  /** Used share of the expected life, 0 to 1; eMMC only. */
  readonly wear?: number | undefined;
  readonly freeBytes: number | undefined;
  readonly readOnly: boolean;
}

export interface ConfigPart {
  readonly files: readonly string[];
  readonly warnings: readonly string[];
  /** Version of the settings desired by the fleet; absent if it never sent any. */
  readonly desiredVersion?: number | undefined;
  readonly appliedVersion?: number | undefined;
  readonly state?: string | undefined;
}

export interface LeaderPart {
  readonly role: "leader" | "standby";
  /** The leading board; undefined: none known. */
  readonly holder: string | undefined;
  readonly term: number;
  /** Since when this board has known this holder. */
  readonly since: Instant | undefined;
  /** When the Lease was last observed to change. */
  readonly renewed: Instant | undefined;
  /** As its holder wrote it. */
  readonly duration: Millis;
  /** As this board would write it. */
  readonly ownDuration: Millis;
  readonly renewP95?: Millis | undefined;
  readonly missedRenewals?: number | undefined;
  /** Since when the Lease has had no holder. */
  readonly leaderlessSince: Instant | undefined;
  /** How this board's last term ended; absent while it leads. */
  readonly ended?: { readonly at: Instant; readonly why: string } | undefined;
}

export interface ApiPart {
  readonly state: "starting" | "up" | "down";
  readonly since: Instant;
  readonly server: string | undefined;
  readonly rtt?: { readonly p50: Millis; readonly p95: Millis } | undefined;
  /** Requests in the last hour, in total and without an answer. */
  readonly requests1h?: number | undefined;
  readonly failed1h?: number | undefined;
  /** Watch restarts in the last hour. */
  readonly restarts1h?: number | undefined;
  /** The last failure; undefined while the state is up. */
  readonly error: ApiProblem | undefined;
  /** The last outage that has ended. */
  readonly lastOutage?: OutagePart | undefined;
}

export interface OutagePart {
  /** Counted from the start of the process. */
  readonly number: number;
  readonly began: Instant;
  readonly ended: Instant;
  /** Peak number of boards and pods held back, as far as this board led. */
  readonly held: { readonly boards: number; readonly pods: number };
}

export interface ApiProblem {
  /**
   * credentials: refused, expired or missing. certificate: the server's is not trusted. forbidden: a permission is
   * missing.
   */
  readonly kind: "unreachable" | "credentials" | "certificate" | "forbidden";
  readonly message: string;
  readonly hint?: string | undefined;
}

export interface WatchPart {
  readonly resource: string;
  /** failing: cannot be opened at present. off: not watched by a cold standby. */
  readonly state: "live" | "syncing" | "silent" | "failing" | "off";
  readonly objects: number;
  readonly heard: Instant | undefined;
  /** How long the oldest received change has been waiting to be applied. */
  readonly behind?: Millis | undefined;
  readonly lists: number;
  readonly lastList: Instant | undefined;
  readonly restarts: number;
  readonly rejected: number;
  /** Reasons of the last few rejections. */
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
  /** Largest expected WAL, in bytes, while no reader blocks checkpoints. */
  readonly walExpected?: number | undefined;
  readonly lastCommit?: Instant | undefined;
  readonly fsyncP95?: Millis | undefined;
  /** volatile: the state folder is lost at power-off. */
  readonly persistence?: "persistent" | "volatile" | undefined;
  /** Bytes written in the last day, or since the process started if that is shorter. */
  readonly writtenBytes24h?: number | undefined;
  readonly writtenSpan?: Millis | undefined;
}

export interface MemoryPart {
  readonly rssBytes: number | undefined;
  readonly anonymousBytes: number | undefined;
  readonly peakBytes: number | undefined;
  readonly heapUsedBytes: number;
  /** Above `softBytes` the agent sheds caches, above `hardBytes` it restarts. */
  readonly softBytes?: number | undefined;
  readonly hardBytes?: number | undefined;
  /** off: the kernel enforces no memory limit, whatever the unit says. */
  readonly cgroup?: "on" | "off" | undefined;
  /** Memory pressure (PSI "some"), percent of the last ten seconds. */
  readonly psiSome10?: number | undefined;
}

export interface ProblemPart {
  readonly type: string;
  /** Tells several problems of one type apart. */
  readonly subject?: string | undefined;
  readonly severity: "critical" | "warning" | "info";
  readonly message: string;
  readonly hint?: string | undefined;
}

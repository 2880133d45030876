import type { Instant, Millis } from "../base/clock.ts";
import type { Severity, Status } from "./schema.ts";

type Section<K extends keyof Status> = NonNullable<Status[K]>;
type Entry<K extends keyof Status> = Section<K> extends readonly (infer E)[] ? E : never;
/** The type T with instants for its members K, which are times as text in the document. */
type At<T, K extends keyof T> = Omit<T, K> & { readonly [P in keyof Pick<T, K>]: Instant | Extract<T[P], undefined> };

/**
 * Input of the status: the members of the document (described in schema.ts) as components provide them on request, and
 * other facts that only the rules of health.ts need. Times are instants of this process; components that do not exist
 * yet are left out.
 */
export interface Parts {
  readonly now: Instant;
  readonly process: ProcessPart;
  readonly identity: Status["identity"];
  readonly leader?: LeaderPart;
  readonly api?: ApiPart;
  readonly watches?: readonly WatchPart[];
  readonly traffic?: Section<"traffic">;
  readonly zones?: readonly ZonePart[];
  readonly boards?: BoardsPart;
  readonly lan?: LanPart;
  readonly judgement?: JudgementPart;
  readonly eviction?: EvictionPart;
  readonly controllers?: readonly ControllerPart[];
  readonly journal?: JournalPart;
  readonly memory?: Section<"memory">;
  readonly board?: Section<"board">;
  readonly config?: Section<"config">;
  readonly clock?: Section<"clock">;
  /** Absent if no fleet is configured. */
  readonly mqtt?: MqttPart;
  /** Holds and quiet hours in force, as far as this board knows. */
  readonly holds?: HoldsPart;
  /** The last few commands, newest first. */
  readonly commands?: readonly At<Entry<"commands">, "at">[];
  /** Set after the cache was dropped and listed again. */
  readonly rebuilt?: {
    readonly at: Instant;
    readonly why: string;
  };
  /** Set for as long as the agent is cautious because the API server's store was restored to an earlier state. */
  readonly restored?: { readonly hint: string };
  /** Older sites that also claim boards or namespaces of this one; this site leaves those alone. */
  readonly selectionConflicts?: readonly SelectionConflictPart[];
  /** Other problems, which do not follow from the members above (see health.ts). */
  readonly problems?: readonly ProblemPart[];
}

/** The parts that the agent contributes. */
export type AgentParts = Omit<Parts, "now" | "process" | "identity">;

type ProcessPart = Pick<
  Status,
  | "pid"
  | "version"
  | "bootId"
  | "writtenBootMs"
  | "staleAfterMs"
  | "invocationId"
  | "writeFailures"
  | "ending"
  | "previous"
> &
  At<Pick<Status, "startedAt">, "startedAt">;

export interface SelectionConflictPart {
  readonly site: string;
  /** "namespace/name" of the other site's Lease. */
  readonly lease: string;
  readonly boards: number;
  /** Names of the first few of these boards. */
  readonly some: readonly string[];
  readonly namespaces?: "every" | { readonly count: number; readonly some: readonly string[] } | undefined;
}

export type LeaderPart = Omit<At<Section<"leader">, "since">, "ended"> & {
  readonly ended?: At<NonNullable<Section<"leader">["ended"]>, "at"> | undefined;
  /** The duration that this board would write to the Lease. */
  readonly ownDuration: Millis;
  /** When the Lease lost its holder. */
  readonly leaderlessSince?: Instant | undefined;
};

type ApiSection = Section<"link">["api"];

export type ApiPart = Omit<At<ApiSection, "since">, "lastError" | "lastOutage" | "watch"> & {
  /** Watch restarts in the last hour. */
  readonly restarts1h?: number | undefined;
  /** The last failure; undefined while the state is up. */
  readonly error?: ApiProblem | undefined;
  readonly lastOutage?: At<NonNullable<ApiSection["lastOutage"]>, "from" | "to"> | undefined;
};

export interface ApiProblem {
  /**
   * credentials: refused, expired or missing. certificate: the server's certificate is not trusted. forbidden: a
   * permission is missing.
   */
  readonly kind: "unreachable" | "credentials" | "certificate" | "forbidden";
  readonly message: string;
  readonly hint?: string | undefined;
}

export type MqttPart = Omit<At<NonNullable<Section<"link">["mqtt"]>, "since">, "lastError"> & {
  /** The last failure; absent while the state is up. */
  readonly error?: { readonly message: string; readonly hint?: string | undefined } | undefined;
  /** When the next attempt to connect begins; absent unless the agent waits for it. */
  readonly nextAttempt?: Instant | undefined;
};

/** failing: currently cannot be opened. off: not watched by a cold standby. */
export type WatchPart = Entry<"watches">;
export type ControllerPart = Entry<"controllers">;
export type ZonePart = Omit<Entry<"zones">, "slowUntil"> & { readonly slowUntil?: Instant | undefined };
export type MemoryPart = Section<"memory">;
export type BoardPart = Section<"board">;
export type ConfigPart = Section<"config">;

export type JournalPart = Section<"journal"> & {
  /** Largest expected WAL, in bytes, while no reader blocks checkpoints. */
  readonly walExpected?: number | undefined;
};

export type LanPart = Section<"lan">;
export type NamedBoard = At<Section<"boards">["lost"]["some"][number], "since" | "heldUntil">;

export interface NamedBoards {
  readonly count: number;
  /** The first few of these boards. */
  readonly some: readonly NamedBoard[];
}

/** Boards not in use, by the leader's verdicts. */
export type BoardsPart = { readonly [K in "lost" | "off" | "notReady"]: NamedBoards } & Pick<
  Section<"boards">,
  "tainted"
> & {
    /** Absent if there are none. */
    readonly cutOff?: NamedBoards | undefined;
    /**
     * Those boards of `off` that were not drained first: they have pods that will be evicted, or were evicted and still
     * exist. Sorted by name; absent if there are none.
     */
    readonly undrained?: readonly UndrainedBoard[];
  };

/** A cordoned silent board with pods. */
export interface UndrainedBoard {
  readonly name: string;
  /** Pods that will be evicted. */
  readonly staying: number;
  /** Pods that were evicted and still exist. */
  readonly evicted: number;
}

/** Progress of judging the boards. */
export interface JudgementPart extends Omit<Section<"judgement">, "ageMs" | "isPaused"> {
  /** When the current verdicts were reached; undefined if there are none yet. */
  readonly at: Instant | undefined;
  /** Interval between passes over the boards. */
  readonly period: Millis;
  /** An operator paused the controller that judges boards. */
  readonly isPaused: boolean;
  /** The controller that judges boards runs in shadow mode. */
  readonly isShadowed?: boolean;
  /** When the oldest pending write of a silent board's conditions became due. */
  readonly behindSince: Instant | undefined;
  /** Allowed requests per second. */
  readonly qps: number;
  /** Set if the link flaps: since when, and the boards whose judgement or eviction is postponed because of that. */
  readonly postponed?: { readonly since: Instant; readonly boards: NamedBoards } | undefined;
}

export interface EvictionPart extends Omit<Section<"eviction">, "held" | "frozen" | "valve"> {
  /**
   * The quarantine after an outage: why it holds evictions, when it began, the boards that have not reported since, and
   * its latest end, as far as it is known.
   */
  readonly held:
    | {
        readonly why: string;
        readonly since: Instant;
        readonly awaited?: { readonly count: number; readonly some: readonly string[] } | undefined;
        readonly until?: Instant | undefined;
      }
    | undefined;
  /** Absent under policy `kubernetes`. */
  readonly valve?: ValvePart | undefined;
}

type ValveSection = NonNullable<Section<"eviction">["valve"]>;

export type ValvePart = At<ValveSection, "heldSince">;

type HoldsSection = Section<"holds">;

/**
 * `until` may be in the future. It is an instant of this process, so it does not depend on the wall clock at the time
 * of the order.
 */
export type HoldsPart = {
  readonly [K in "freezes" | "pauses" | "confirmed"]: readonly At<HoldsSection[K][number], "until">[];
} & At<Pick<HoldsSection, "quietUntil">, "quietUntil"> & {
    readonly release?: At<NonNullable<HoldsSection["release"]>, "until"> | undefined;
  };

export interface ProblemPart {
  readonly type: string;
  /** Distinguishes several problems of one type. */
  readonly subject?: string | undefined;
  readonly severity: Severity;
  readonly message: string;
  readonly hint?: string | undefined;
  /** The problem is one of the site, which only the leading board knows of. */
  readonly isOfSite?: true;
}

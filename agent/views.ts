import type { OpenedState } from "../storage/open.ts";
import type { StateFolder } from "../storage/state-folder.ts";
import type { Instant } from "./base/clock.ts";
import type { ApiLink, ApiLinkView } from "./client/api-link.ts";
import type { MissingPermission, Permissions } from "./client/permissions.ts";
import type { Traffic, TrafficRow } from "./client/traffic.ts";
import type { Config } from "./config/settings.ts";
import type { SiteMemory } from "./controllers/node-lifecycle/memory.ts";
import type { TimerCounts } from "./controllers/taint-eviction/timer.ts";
import type { ElectorView, LeaderElector } from "./election/leader-elector.ts";
import type { ActCount } from "./execution/act-counts.ts";
import type { Executor } from "./execution/executor.ts";
import type { Waiting } from "./holds/held-acts.ts";
import type { Quiet } from "./holds/hold-book.ts";
import type { Holds } from "./holds/holds.ts";
import type { InformerSet } from "./informer/informer-set.ts";
import type { InformerStats } from "./informer/informer-stats.ts";
import type { TermWork } from "./leading/term-work.ts";
import type { ControlLoop } from "./loop/control-loop.ts";
import type { ControllerStats } from "./loop/controller-stats.ts";
import type { Conflict, SiteClaims } from "./site/site-claims.ts";

/** The state of the agent's parts at an instant, for the status. */
export interface AgentViews {
  readonly config: Config;
  readonly election: ElectorView;
  readonly link: ApiLinkView;
  readonly forbidden: readonly MissingPermission[];
  readonly conflicts: readonly Conflict[];
  /** Namespaces whose Leases may not be listed, so that other sites there are not known. */
  readonly unseenSites: readonly string[];
  readonly informers: readonly InformerStats[];
  readonly isListening: boolean;
  readonly controllers: readonly ControllerView[];
  /** The leader's memory of boards and zones; undefined: another board leads. */
  readonly site: SiteMemory | undefined;
  /** Pods whose time beside a taint runs or is over; undefined: taint eviction does not run, or another board leads. */
  readonly timers: TimerCounts | undefined;
  readonly acts: readonly ActCount[];
  /** The most that the outage which began then held back at one time, as far as this board led. */
  readonly heldSince: (outage: Instant) => Waiting;
  readonly holds: Holds;
  readonly quiet: Quiet | undefined;
  readonly traffic: readonly TrafficRow[];
  readonly cache: { readonly file: string; readonly fileBytes: number; readonly walBytes: number };
  readonly rebuilt: Error | undefined;
  readonly openedAt: Instant;
  readonly setAside: OpenedState["setAside"];
}

export interface ControllerView extends ControllerStats {
  /** The resources that must be mirrored before it begins; empty once it has begun. */
  readonly waitsFor: readonly string[];
}

/** The parts to read, and the values that only the agent itself knows. */
export interface Viewed
  extends Pick<AgentViews, "config" | "isListening" | "holds" | "quiet" | "rebuilt" | "openedAt"> {
  readonly elector: LeaderElector;
  readonly link: ApiLink;
  readonly permissions: Permissions;
  readonly claims: SiteClaims;
  readonly informers: InformerSet;
  readonly executor: Executor;
  readonly traffic: Traffic;
  readonly folder: Pick<StateFolder, "state" | "cache">;
  readonly work: Pick<TermWork, "loops" | "site" | "timers" | "heldSince">;
}

type ViewedLoop = Pick<ControlLoop<never, never>, "stats" | "reads">;

export function viewsOf(parts: Viewed, now: Instant): AgentViews {
  const { claims, folder, work } = parts;
  const { loops } = work;
  const { cache, state } = folder;
  const { file, wal } = cache.database.sizes();
  const leads = loops.length > 0;
  return {
    config: parts.config,
    election: parts.elector.view(),
    link: parts.link.view(),
    forbidden: parts.permissions.missing(),
    conflicts: leads ? claims.conflicts() : [],
    unseenSites: leads ? claims.unseen : [],
    informers: parts.informers.stats(),
    isListening: parts.isListening,
    controllers: loops.map((loop) => viewOf(loop, parts.informers, now)),
    site: work.site,
    holds: parts.holds,
    quiet: parts.quiet,
    timers: work.timers(now),
    heldSince: (outage) => work.heldSince(outage),
    acts: parts.executor.acts(now),
    traffic: parts.traffic.snapshot(),
    cache: { file: cache.database.file, fileBytes: file, walBytes: wal },
    rebuilt: parts.rebuilt,
    openedAt: parts.openedAt,
    setAside: state.setAside,
  };
}

function viewOf(loop: ViewedLoop, informers: InformerSet, now: Instant): ControllerView {
  const stats = loop.stats(now);
  return { ...stats, waitsFor: stats.state === "standby" ? informers.missing(loop.reads) : [] };
}

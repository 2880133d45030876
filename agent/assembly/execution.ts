import { leases, nodes, pods } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import type { Instant } from "../base/clock.ts";
import { type BoardVerdictDeps, freezeOnBoard } from "../controllers/board-verdicts.ts";
import { lifecycleSettings } from "../controllers/node-lifecycle/settings.ts";
import { openValve, shutValve, type ValveAt } from "../controllers/safety-valve.ts";
import type { DecisionBook } from "../decisions/decision-book.ts";
import type { EventRecorder } from "../execution/event-recorder.ts";
import { Executor } from "../execution/executor.ts";
import { actLimits } from "../holds/act-limit.ts";
import type { HoldBook } from "../holds/hold-book.ts";
import { runningRelease } from "../holds/holds.ts";
import type { ValveBook } from "../holds/valve-book.ts";
import { isOutdated, linkOf } from "../judgement/link.ts";
import type { CurrentTerm } from "../leading/current-term.ts";
import type { ValveLimits } from "../leading/site-parts.ts";
import type { Caches } from "../loop/site-view.ts";
import type { Questioner } from "../witness/questioner.ts";
import type { Edges } from "./edges.ts";
import type { SiteConnection } from "./site-connection.ts";

/** The executor, and the sources of the verdicts and holds that permit or forbid an act. */
export interface Execution {
  readonly verdictDeps: BoardVerdictDeps;
  /**
   * The limits of the safety valve, regardless of whether an operator has released it; undefined if there is no valve.
   */
  readonly limits: ValveLimits | undefined;
  readonly executor: Executor;
}

export interface ExecutionDeps {
  readonly api: SiteConnection;
  readonly events: EventRecorder;
  readonly current: CurrentTerm;
  readonly holds: HoldBook;
  readonly caches: Caches;
  readonly decisions: DecisionBook;
  readonly valve: ValveBook | undefined;
  /** Undefined if silent boards are not asked on the LAN. */
  readonly questioner: Pick<Questioner, "wordOf"> | undefined;
}

export function executionOf(
  ambient: Ambient,
  { config }: Edges,
  { api, events, current, holds, caches, decisions, valve: book, questioner }: ExecutionDeps,
): Execution {
  const { clock } = ambient;
  const settings = lifecycleSettings(config);
  const boards = caches.informer(nodes);
  const heartbeats = caches.informer(leases);
  const isFrozen = (board: string): boolean => {
    const now = clock.now();
    const held = holds.now(now);
    if (held.freezes.size === 0) return false;
    return freezeOnBoard(held, board, boards.lister.get(board), now) !== undefined;
  };
  const hasOutageSince = (since: Instant): boolean => {
    const now = clock.now();
    const link = linkOf({ nodes: boards.health, leases: heartbeats.health }, settings, now);
    return isOutdated(link, since, settings, now);
  };
  const { maxHarmPerHour, maxBoards } = config.safety;
  const cachedPods = caches.informer(pods).lister;
  const limits =
    book &&
    actLimits(
      maxHarmPerHour,
      () => new Map([...cachedPods.indexValues("byRun")].map((name) => [name, cachedPods.countByIndex("byRun", name)])),
    );
  const isReleased = (now: Instant): boolean => runningRelease(holds.now(now), now) !== undefined;
  const valveAt: ValveAt = (now, namespace) => {
    if (book === undefined || limits === undefined || isReleased(now)) return openValve;
    const view = book.view(limits, now, namespace);
    return { shut: shutValve(view, limits.acts(now), now), boards: maxBoards ?? "half" };
  };
  return {
    limits: limits && { ...limits, boards: maxBoards ?? "half" },
    verdictDeps: {
      settings,
      judge: () => current.judgeMemory(),
      holds: (now) => holds.now(now),
      valve: valveAt,
      ...(questioner && { wordOf: (board: string) => questioner.wordOf(board) }),
    },
    executor: new Executor(ambient, {
      client: api.client,
      events,
      inflight: config.client.inflight,
      isFrozen,
      isOutdated: hasOutageSince,
      valve: book &&
        limits && {
          admit: (act, namespace) => {
            const acts = (now: Instant): number => (isReleased(now) ? Number.POSITIVE_INFINITY : limits.acts(now));
            return book.admit(act, { ...limits, acts }, namespace);
          },
        },
      decisions,
    }),
  };
}

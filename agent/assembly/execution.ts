import { boardLeaseKey, leases, nodes, pods } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import type { Instant } from "../base/clock.ts";
import { pretenceOf } from "../config/shadow-mode.ts";
import { type BoardVerdictDeps, freezeOnBoard, isBoardBack } from "../controllers/board-verdicts.ts";
import { lifecycleSettings } from "../controllers/node-lifecycle/settings.ts";
import { openValve, shutValve, type ValveAt } from "../controllers/safety-valve.ts";
import type { DecisionBook } from "../decisions/decision-book.ts";
import type { Grounds } from "../decisions/grounds.ts";
import type { EventRecorder } from "../execution/event-recorder.ts";
import { Executor } from "../execution/executor.ts";
import { actLimits } from "../holds/act-limit.ts";
import type { HoldBook } from "../holds/hold-book.ts";
import { isPaused, runningRelease } from "../holds/holds.ts";
import type { ValveBook } from "../holds/valve-book.ts";
import { isOutdated, linkOf } from "../judgement/link.ts";
import type { CurrentTerm } from "../leading/current-term.ts";
import type { ValveLimits } from "../leading/site-parts.ts";
import type { LoadShadow, TermShadow } from "../leading/term-shadow.ts";
import type { Caches } from "../loop/site-view.ts";
import type { Questioner } from "../witness/questioner.ts";
import type { Edges } from "./edges.ts";
import type { ActCounter, ExecutorParts } from "./shadow.ts";
import type { SiteConnection } from "./site-connection.ts";

/** The executor, and the sources of the verdicts and holds that permit or forbid an act. */
export interface Execution {
  readonly verdictDeps: BoardVerdictDeps;
  /**
   * The limits of the safety valve, regardless of whether an operator has released it; undefined if there is no valve.
   */
  readonly limits: ValveLimits | undefined;
  readonly executor: Executor;
  /**
   * The same for controllers in shadow mode or of the compared policy, loaded when this board first leads; undefined if
   * there are none.
   */
  readonly shadow: LoadShadow | undefined;
}

export interface ExecutionDeps {
  readonly api: SiteConnection;
  readonly events: EventRecorder;
  readonly current: CurrentTerm;
  readonly holds: HoldBook;
  readonly caches: Caches;
  /** The caches without the boards that another site claims. */
  readonly uncontested: Caches;
  readonly decisions: DecisionBook;
  /** The book of controllers in shadow mode or of the compared policy; undefined if there are none. */
  readonly shadowDecisions: DecisionBook | undefined;
  readonly valve: ValveBook | undefined;
  /** Undefined if silent boards are not asked on the LAN. */
  readonly questioner: Pick<Questioner, "wordOf"> | undefined;
}

export function executionOf(ambient: Ambient, { config }: Edges, deps: ExecutionDeps): Execution {
  const {
    api,
    events,
    current,
    holds,
    caches,
    uncontested,
    decisions,
    shadowDecisions,
    valve: book,
    questioner,
  } = deps;
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
  const valveOf =
    (counter: ActCounter | undefined): ValveAt =>
    (now, namespace) => {
      if (counter === undefined || limits === undefined || isReleased(now)) return openValve;
      const view = counter.view(limits, now, namespace);
      return { shut: shutValve(view, limits.acts(now), now), boards: maxBoards ?? "half" };
    };
  const unheld = { inflight: config.client.inflight, isOutdated: hasOutageSince };
  const executorOf = (counter: ActCounter | undefined, parts: ExecutorParts): Executor =>
    new Executor(ambient, {
      ...parts,
      ...unheld,
      isFrozen,
      isPaused(controller) {
        const now = clock.now();
        return isPaused(holds.now(now), controller, now);
      },
      valve: counter &&
        limits && {
          admit: (act, namespace) => {
            const acts = (now: Instant): number => (isReleased(now) ? Number.POSITIVE_INFINITY : limits.acts(now));
            return counter.admit(act, { ...limits, acts }, namespace);
          },
        },
    });
  let shadow: Promise<TermShadow> | undefined;
  const shadowOf = async (shadowBook: DecisionBook): Promise<TermShadow> => {
    const { termComparison, termShadow } = await import("./shadow.ts");
    const shared = { config, current, uncontested, reader: api.client, decisions: shadowBook };
    // No hold of this site binds another policy.
    if (pretenceOf(config) === "kubernetes")
      return termComparison(ambient, {
        ...shared,
        executorOf: (parts) => new Executor(ambient, { ...parts, ...unheld }),
      });
    return termShadow(ambient, { ...shared, executorOf, valveOf, hasValve: book !== undefined });
  };
  // Not for controllers in shadow mode: a board that they pretend to be lost is not in the caches.
  const isBack = (grounds: Grounds): boolean =>
    isBoardBack(grounds, boards.lister.get(grounds.board), heartbeats.lister.get(boardLeaseKey(grounds.board)));
  return {
    limits: limits && { ...limits, boards: maxBoards ?? "half" },
    verdictDeps: {
      settings,
      judge: () => current.judgeMemory(),
      holds: (now) => holds.now(now),
      valve: valveOf(book),
      ...(questioner && { wordOf: (board: string) => questioner.wordOf(board) }),
    },
    executor: executorOf(book, { client: api.client, events, decisions, isBack }),
    shadow:
      shadowDecisions &&
      (() => {
        shadow ??= shadowOf(shadowDecisions);
        return shadow;
      }),
  };
}

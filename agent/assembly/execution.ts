import { leases, nodes } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import type { Instant } from "../base/clock.ts";
import { type BoardVerdictDeps, freezeOnBoard } from "../controllers/board-verdicts.ts";
import { lifecycleSettings } from "../controllers/node-lifecycle/settings.ts";
import type { DecisionBook } from "../decisions/decision-book.ts";
import type { EventRecorder } from "../execution/event-recorder.ts";
import { Executor } from "../execution/executor.ts";
import type { HoldBook } from "../holds/hold-book.ts";
import { isOutdated, linkOf } from "../judgement/link.ts";
import type { CurrentTerm } from "../leading/current-term.ts";
import type { Caches } from "../loop/site-view.ts";
import type { Questioner } from "../witness/questioner.ts";
import type { Edges } from "./edges.ts";
import type { SiteConnection } from "./site-connection.ts";

/** The executor, and the sources of the verdicts and holds that permit or forbid an act. */
export interface Execution {
  readonly verdictDeps: BoardVerdictDeps;
  readonly executor: Executor;
}

export interface ExecutionDeps {
  readonly api: SiteConnection;
  readonly events: EventRecorder;
  readonly current: CurrentTerm;
  readonly holds: HoldBook;
  readonly caches: Caches;
  readonly decisions: DecisionBook;
  /** Undefined: silent boards are not asked on the LAN. */
  readonly questioner: Pick<Questioner, "wordOf"> | undefined;
}

export function executionOf(
  ambient: Ambient,
  { config }: Edges,
  { api, events, current, holds, caches, decisions, questioner }: ExecutionDeps,
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
  return {
    verdictDeps: {
      settings,
      judge: () => current.judgeMemory(),
      holds: (now) => holds.now(now),
      ...(questioner && { wordOf: (board: string) => questioner.wordOf(board) }),
    },
    executor: new Executor(ambient, {
      client: api.client,
      events,
      inflight: config.client.inflight,
      isFrozen,
      isOutdated: hasOutageSince,
      decisions,
    }),
  };
}

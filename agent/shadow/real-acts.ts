import { conditionOf } from "../api/conditions.ts";
import type { Node, Pod } from "../api/core.ts";
import type { KubeObject } from "../api/meta.ts";
import { controllerOf } from "../api/owners.ts";
import { boardOf, isTerminating, wasAcceptedByKubelet } from "../api/pods.ts";
import { nodes, pods, type Resource } from "../api/resources.ts";
import { isLifecycleKey, isOutOfService, noExecuteTaints } from "../api/taints.ts";
import type { Clock } from "../base/clock.ts";
import type { DecidedAct } from "../decisions/decision-book.ts";
import type { RecordedAct, VerdictName } from "../decisions/grounds.ts";
import { refTo, subjectOf } from "../execution/actions.ts";
import type { Term } from "../execution/fence.ts";
import { isInStep, type WatchHealth, type WatchLimits } from "../informer/watch-health.ts";
import type { ObjectChange } from "../loop/controller.ts";
import type { Caches } from "../loop/site-view.ts";

/** A real act: of another program or, if another policy is only compared, of this agent. */
export interface RealAct {
  readonly act: RecordedAct;
  readonly object: KubeObject;
  readonly resource: Resource<KubeObject>;
  readonly board: string;
}

export interface RealActsDeps {
  readonly caches: Caches;
  readonly book: { seen(act: DecidedAct): void };
  /** The acts of the controllers that only pretend to write. */
  readonly acts: ReadonlySet<RecordedAct>;
  /** Who may have done them, as a record names it. */
  readonly by: string;
  /** Our verdict about a board now; undefined if there is none. */
  readonly verdictOn: (board: string) => { readonly verdict: VerdictName; readonly rule: string } | undefined;
  readonly clock: Clock;
  readonly limits: WatchLimits;
}

/** Records what is really done with boards and their pods, next to what controllers that only pretend would do. */
export class RealActs {
  readonly #deps: RealActsDeps;

  constructor(deps: RealActsDeps) {
    this.#deps = deps;
  }

  /**
   * Follows the caches until the returned function is called. `isBehind`: whether they may still lack something from
   * before the term. What they show until then, or catch up on after an interruption, was done at an unknown time.
   */
  follow(term: Term, isBehind: () => boolean): () => void {
    const { caches, clock, limits } = this.#deps;
    const [boards, cachedPods] = [caches.informer(nodes), caches.informer(pods)];
    const isLate = ({ health }: { readonly health: WatchHealth }): boolean =>
      isBehind() || !isInStep(health, limits, clock.now());
    const ends = [
      boards.onChange((changes) => {
        const found = changes.flatMap(actsOnBoard);
        if (found.length > 0) this.#record(found, term, isLate(boards));
      }),
      cachedPods.onChange((changes) => {
        const found = changes.flatMap((change) => {
          const board = change.before && boardOf(change.before);
          return actsOnPod(change, board === undefined ? undefined : boards.lister.get(board));
        });
        if (found.length > 0) this.#record(found, term, isLate(cachedPods));
      }),
    ];
    return () => {
      for (const end of ends) end();
    };
  }

  #record(found: readonly RealAct[], term: Term, isLate: boolean): void {
    const { book, acts, by, verdictOn } = this.#deps;
    for (const { act, object, resource, board } of found) {
      if (!acts.has(act)) continue;
      const known = isLate ? undefined : verdictOn(board);
      const facts = isLate ? ({ late: true } as const) : known && { verdict: known.verdict, rule: known.rule };
      const because = { kind: "seen", ...facts } as const;
      const on = subjectOf(refTo(resource, object));
      book.seen({ on, by, term: term.number, grounds: { act, board, because, gate: {} } });
    }
  }
}

/** The acts on a board that a change of its Node reveals. */
export function actsOnBoard({ before, after }: ObjectChange<Node>): readonly RealAct[] {
  if (before === undefined || after === undefined || before.metadata.uid !== after.metadata.uid) return [];
  const found = (act: RecordedAct): RealAct => ({ act, object: after, resource: nodes, board: after.metadata.name });
  const isMarked = (node: Node): boolean => conditionOf(node.status?.conditions, "Ready")?.status === "Unknown";
  return [
    ...(isMarked(after) && !isMarked(before) ? [found("board-marked")] : []),
    ...(isTainted(after) && !isTainted(before) ? [found("board-tainted")] : []),
  ];
}

/**
 * The acts on a pod that a change of it reveals: evicted if it was deleted on a board that is tainted as not ready or
 * unreachable, collected if it is gone and its board has no Node, or is out of service and so cannot have ended it. `node`:
 * that of its board. A person may have deleted it all the same.
 */
export function actsOnPod(change: ObjectChange<Pod>, node: Node | undefined): readonly RealAct[] {
  const { before, after } = change;
  const board = before && boardOf(before);
  // A pod that left the site's selection was not deleted.
  if (before === undefined || board === undefined || ("released" in change && change.released === true)) return [];
  const found = (act: RecordedAct): readonly RealAct[] => [{ act, object: before, resource: pods, board }];
  const isGone = after === undefined || after.metadata.uid !== before.metadata.uid;
  // The last state of a pod that was deleted at once, or whose deletion and end arrived in one batch, says that it was
  // terminating.
  const wasTerminating = isTerminating(change.known ?? before);
  if (wasTerminating && isOutOfService(node)) return isGone ? found("pod-collected") : [];
  // Our own deletions of such pods are not recorded either (`Decisions`).
  if (!wasAcceptedByKubelet(before)) return [];
  if (node === undefined) return isGone ? found("pod-collected") : [];
  // A daemon pod tolerates these taints; it is deleted by its controller, which may be ours.
  if (controllerOf(before)?.kind === "DaemonSet") return [];
  const isDeleted = !wasTerminating && (isGone || isTerminating(after));
  return isDeleted && isTainted(node) ? found("pod-evicted") : [];
}

const isTainted = (node: Node): boolean => noExecuteTaints(node).some(({ key }) => isLifecycleKey(key));

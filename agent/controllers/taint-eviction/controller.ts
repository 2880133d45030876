import type { Node, Pod } from "../../api/core.ts";
import { isSameJson } from "../../api/json.ts";
import { type KubeObject, keyOf } from "../../api/meta.ts";
import { boardOf, onSilenceAnnotation } from "../../api/pods.ts";
import { leases, nodes, pods } from "../../api/resources.ts";
import { noExecuteTaints } from "../../api/taints.ts";
import { type Controller, enqueueOn, type ObjectChange, type SiteView } from "../../loop/controller.ts";
import { decide, remember } from "./decide.ts";
import { FormerPods } from "./former-pods.ts";
import { PodObserver, type PodObserverDeps } from "./observe.ts";
import type { PodState } from "./pod-state.ts";
import { durableTimers, type EvictionTimer } from "./timer.ts";
import { identityOf } from "./toleration-time.ts";

/*
 * How a pod comes to be evicted, or why it is not:
 *
 * 1. A board gets a NoExecute taint, or a pod appears on such a board. This enqueues the pod (`keysOnBoard` and
 *    `podKeys` in this file).
 * 2. A pass reads the pod, its board, and what may hold the eviction back (observe.ts; thaw.ts for freezes). The result
 *    is one of the states in pod-state.ts. The timer of a pod that is gone, or on no board, ends here.
 * 3. Each taint leaves the pod a window (toleration-time.ts). The first window to end sets the timer, which goes on
 *    through passes, terms and boots (timer.ts). Until it ends, the pod waits (`waiting` in decide.ts).
 * 4. The eviction is due. It rests on our verdict, on an operator's confirmation, on the report of the kubelet, or on
 *    an order (due-eviction.ts).
 * 5. If it rests on our verdict and nothing else holds it, the pass of step 2 also finds out what the eviction would
 *    gain (prospects.ts, other-boards.ts).
 * 6. From these facts alone, `rulingOf` decides to act, or names the reason to wait (../../judgement/ruling.ts).
 * 7. An eviction that waits is recorded with its reason, and decided again later (`waitOf` in decide.ts).
 * 8. An eviction for which the caches may be too old is doubted (deletion.ts): the next pass begins at step 2 and reads
 *    the pod and the taints from the API.
 * 9. Otherwise an Event, the DisruptionTarget condition and the deletion are sent (`evict` in decide.ts,
 *    eviction-actions.ts). The executor checks term, holds and safety valve again (../../execution/executor.ts).
 * 10. A failed deletion is repeated (`remember` in decide.ts), and so is a sent one if the cache shows the pod for too
 *     long. Once the pod has left the cache, its timer ends.
 */

export interface TaintEvictionDeps extends PodObserverDeps {
  /** Identifies the current boot of this board. */
  readonly boot: string;
}

/** Deletes pods whose tolerations of their board's NoExecute taints have expired. */
export const taintEviction = ({
  boot,
  ...deps
}: TaintEvictionDeps): Controller<PodState, EvictionTimer | undefined> => {
  const former = new FormerPods();
  const observer = new PodObserver(deps, former);
  return {
    name: "taint-eviction",
    reads: [nodes, leases, pods],
    restsOn: [nodes, pods],
    mappings: [
      enqueueOn(pods, (change, site) => former.noteIn(change, podKeys(change, site))),
      enqueueOn(nodes, keysOnBoard),
    ],
    initialMemory: undefined,
    durable: durableTimers(boot),
    observe: (key, site, timer) => observer.observe(key, site, timer),
    decide: (state, timer, now) => decide(state, timer, deps.settings, now),
    decideAfterWrites: remember,
  };
};

/**
 * Enqueues a pod if its timer may change. Most pods have none and are on a board without taints: they are not enqueued.
 */
function podKeys({ key, before, after }: ObjectChange<Pod>, site: SiteView): readonly string[] {
  if (after === undefined) return [key];
  const board = boardOf(after);
  const isAnother = before !== undefined && before.metadata.uid !== after.metadata.uid;
  const moved = before === undefined || isAnother || boardOf(before) !== board;
  if (!moved && !hasOtherWish(before, after)) return [];
  if (before !== undefined && moved) return [key];
  const node = board === undefined ? undefined : site.lister(nodes).get(board);
  return node !== undefined && noExecuteTaints(node).length > 0 ? [key] : [];
}

/** Whether the tolerations of the pod have changed, or its annotation about silent boards. */
const hasOtherWish = (before: Pod, after: Pod): boolean =>
  !isSameJson(before.spec?.tolerations ?? [], after.spec?.tolerations ?? []) ||
  before.metadata.annotations?.[onSilenceAnnotation] !== after.metadata.annotations?.[onSilenceAnnotation];

/**
 * Enqueues the pods of a Node that was deleted or whose NoExecute taints changed. A deleted Node may be recreated
 * without the taints that its pods' timers belong to. Does not read the pods, because together they may be larger than
 * the heap. Goes through them several times, each time taking more of each namespace, so that one with thousands of pods
 * on the board does not delay the others by minutes.
 */
function* keysOnBoard({ key, before, after }: ObjectChange<Node>, site: SiteView): Generator<string | undefined> {
  if (isSameJson(taintIdentities(before), taintIdentities(after))) return;
  const taken = new Set<string>();
  const round = (most: number) => someKeys(site.lister(pods).referencesByIndex("byNode", key), taken, most);
  for (let most = 16; yield* round(most); most *= 4);
}

/**
 * The keys of at most this many pods of each namespace that are not taken yet; undefined for each of the others, which
 * takes a step as well. Returns whether there are more.
 */
function* someKeys(
  references: Iterable<KubeObject>,
  taken: Set<string>,
  most: number,
): Generator<string | undefined, boolean> {
  const counts = new Map<string, number>();
  let hasMore = false;
  for (const pod of references) {
    const key = keyOf(pod);
    const { namespace = "" } = pod.metadata;
    const count = counts.get(namespace) ?? 0;
    const isNew = !taken.has(key);
    const isTaken = isNew && count < most;
    if (isTaken) {
      counts.set(namespace, count + 1);
      taken.add(key);
    }
    hasMore ||= isNew && !isTaken;
    yield isTaken ? key : undefined;
  }
  return hasMore;
}

const taintIdentities = (node: Node | undefined): readonly string[] =>
  node === undefined ? [] : noExecuteTaints(node).map(identityOf);

import type { Node, Pod, Taint } from "../../api/core.ts";
import { isSameJson } from "../../api/json.ts";
import { type KubeObject, keyOf } from "../../api/meta.ts";
import { boardOf, onSilenceAnnotation } from "../../api/pods.ts";
import { covers } from "../../api/resource-version.ts";
import { boardLeaseKey, leases, nodes, pods } from "../../api/resources.ts";
import { noExecuteTaints, taintOf } from "../../api/taints.ts";
import { elapsed, type Instant, type Millis } from "../../base/clock.ts";
import type { Confirmed, SilenceFacts } from "../../decisions/grounds.ts";
import { type Holds, noHolds } from "../../holds/holds.ts";
import { isInStep } from "../../informer/watch-health.ts";
import { linkOf } from "../../judgement/link.ts";
import { silenceFacts } from "../../judgement/ruling.ts";
import { type Controller, enqueueOn, type ObjectChange, type SiteView } from "../../loop/controller.ts";
import { barePod } from "../bare-pod.ts";
import { livePod } from "../live-pod.ts";
import { type Circumstances, type LanAnswerOf, noLanAnswer, readyOf } from "../node-lifecycle/health.ts";
import type { BoardRecord } from "../node-lifecycle/memory.ts";
import { isMarked, outOfService, sinceConfirmed } from "../node-lifecycle/out-of-service/mark.ts";
import type { NodeLifecycleSettings } from "../node-lifecycle/settings.ts";
import { examinedNow } from "../node-lifecycle/verdict-now.ts";
import { type Budget, budgetNow, type RunningTaint } from "../node-lifecycle/zones/budget.ts";
import { openValve, type ValveAt } from "../safety-valve.ts";
import { decide, remember } from "./decide.ts";
import { isToWeigh } from "./due-eviction.ts";
import type { BoundPod, PodState } from "./pod-state.ts";
import { type OwnWord, ownWordOf, Prospects } from "./prospects.ts";
import { Thaw } from "./thaw.ts";
import { durableTimers, type EvictionTimer, isOfOwnTaints, isSent, ranFor } from "./timer.ts";
import { firstMatchingTolerations, identityOf } from "./toleration-time.ts";

export interface TaintEvictionDeps {
  readonly settings: NodeLifecycleSettings;
  /** Identifies the current boot of this board. */
  readonly boot: string;
  /** The previous leader's budget; undefined if there is none. */
  readonly inherited: () => Budget | undefined;
  /**
   * The node lifecycle controller's record of a board; undefined if there is none yet, "no judge" if that controller is
   * turned off.
   */
  readonly recordOf: (board: string) => BoardRecord | "no judge" | undefined;
  /** The operators' holds at this time; by default none. */
  readonly holds?: (now: Instant) => Holds;
  /** The safety valve at this time; by default it limits nothing. */
  readonly valve?: ValveAt;
  /** The LAN answers of boards; by default there are none. */
  readonly wordOf?: LanAnswerOf;
  /** Whether the API server may still serve a history that a restore undid; by default it does not. */
  readonly mayBeFormer?: () => boolean;
  /** Whether the caches have every Node of the cluster; by default they do. */
  readonly seesAllBoards?: () => boolean;
}

/** Deletes pods whose tolerations of their board's NoExecute taints have expired. */
export const taintEviction = ({
  settings,
  boot,
  inherited,
  recordOf,
  holds: holdsAt = () => noHolds,
  valve = () => openValve,
  wordOf = noLanAnswer,
  mayBeFormer = () => false,
  seesAllBoards = () => true,
}: TaintEvictionDeps): Controller<PodState, EvictionTimer | undefined> => {
  const thaw = new Thaw(settings);
  const nodeReads = new NodeReads();
  const prospects = new Prospects(seesAllBoards);
  const former = new FormerPods();
  const nodeOf = (node: Node, timer: EvictionTimer, site: SiteView): Promise<Node | undefined> =>
    isOfOwnTaints(timer) ? nodeReads.newerThan(node, site) : site.fetch(nodes, node.metadata.name);
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
    /*
     * Reads the caches, and from the API only what they cannot show:
     *
     * if                                                       | from the API
     * ---------------------------------------------------------|-------------------------------------------------
     * the pod has left the cache, and so has its board         | the pod, unless its deletion was sent
     * the board has left the cache, and the timer has expired  | the Node
     * the deletion is doubted                                  | the Node, the pod, the Lease if out of service
     * the deletion met a conflict, and the caches are live     | the Node, the pod
     * the gain is all that the eviction still depends on       | the namespace, volumes (`Prospects`)
     */
    async observe(key, site, memory) {
      const seen = seenOf(key, site);
      if (seen === undefined) {
        const released = memory !== undefined && (await isReleased(key, memory, site));
        return memory && { kind: "gone", pod: refOfKey(key, memory.uid), released };
      }
      const { board } = seen;
      if (board === undefined) return memory && { kind: "unbound", pod: seen.pod };
      const link = linkOf({ nodes: site.watch(nodes), leases: site.watch(leases) }, settings, site.now);
      const holds = holdsAt(site.now);
      const { shut } = valve(site.now, seen.pod.metadata.namespace);
      const hold = thaw.holdOn(holds, { board, node: seen.node }, site);
      const { isDoubted = false, metConflict = false } = memory?.deletion ?? {};
      // A pod that was written since belongs to a board that may be back, which a watch may be late to show.
      const isToRead = isDoubted || (metConflict && link.live);
      const read = seen.node && memory && isToRead ? await nodeOf(seen.node, memory, site) : undefined;
      const node = read ?? seen.node;
      const taints = node && isToRead ? noExecuteTaints(node) : seen.taints;
      const live = isToRead ? await livePod(seen.pod, site) : undefined;
      const newest = live === "gone" ? undefined : live;
      const pod = newest ? reduced(newest, taints) : seen.pod;
      if (node === undefined)
        return memory && { kind: "orphan", pod, board, fate: await fateOf(board, memory, site), link, hold, shut };
      if (taints.length === 0 && memory === undefined) return undefined;
      const ready = readyOf(node)?.status;
      const record = recordOf(board);
      const confirmed = await confirmedNow(node, isDoubted, site);
      const { silence, watched } = judged(node, record, site, { link, holds, settings, wordOf });
      const state: BoundPod = {
        kind: "bound",
        pod,
        board,
        taints,
        isRead: isDoubted,
        ...(confirmed && { confirmed }),
        isGone: live === "gone",
        isInStep: isOneMoment(node, pod, site, settings),
        mayBeFormer: mayBeFormer(),
        ready,
        link,
        silence,
        watched,
        missed: missedBy(record, silence),
        hold,
        shut,
        inherited: former.include(pod) ? runningTaint(inherited(), board, site) : undefined,
      };
      if (!isToWeigh(state, memory, settings, site.now)) return state;
      const word = newest ? ownWordOf(newest) : seen.word;
      return { ...state, move: await prospects.of(key, { board, word, isShut: shut !== undefined }, site) };
    },
    decide: (state, memory, now) => decide(state, memory, settings, now),
    decideAfterWrites: remember,
  };
};

/**
 * Whether the caches show the Node and the pod as the server had them at one moment. Both watches may be live although
 * one of them is minutes late, because they share a link, and a large event delays later ones on its own stream.
 */
const isOneMoment = (node: Node, pod: Pod, site: SiteView, settings: NodeLifecycleSettings): boolean =>
  [nodes, pods].every((resource) => isInStep(site.watch(resource), settings, site.now)) &&
  covers(site.position(pods), node.metadata.resourceVersion) &&
  covers(site.position(nodes), pod.metadata.resourceVersion);

interface SeenPod {
  readonly pod: Pod;
  readonly board: string | undefined;
  readonly node: Node | undefined;
  readonly taints: readonly Taint[];
  readonly word: OwnWord;
}

/** The cached pod with its board, reduced to the needed parts, because a pass holds it while it waits for the API. */
function seenOf(key: string, site: SiteView): SeenPod | undefined {
  const cached = site.lister(pods).get(key);
  if (cached === undefined) return undefined;
  const board = boardOf(cached);
  const node = board === undefined ? undefined : site.lister(nodes).get(board);
  const taints = node === undefined ? [] : noExecuteTaints(node);
  return { pod: reduced(cached, taints), board, node, taints, word: ownWordOf(cached) };
}

/** The parts of a pod that an eviction needs, with the tolerations that matter. */
function reduced(pod: Pod, taints: readonly Taint[]): Pod {
  const bare = barePod(pod);
  const tolerations = firstMatchingTolerations(pod.spec?.tolerations, taints);
  return tolerations.length === 0 ? bare : { ...bare, spec: { containers: [], ...bare.spec, tolerations } };
}

function judged(
  node: Node,
  record: BoardRecord | "no judge" | undefined,
  site: SiteView,
  context: Omit<Circumstances, "now"> & { readonly wordOf: LanAnswerOf },
): Pick<BoundPod, "silence" | "watched"> {
  if (record === "no judge") return { silence: undefined, watched: undefined };
  if (record === undefined) return { silence: notJudged, watched: undefined };
  const { verdict, evidence, health } = examinedNow(node, record, site, context);
  return { silence: silenceFacts(verdict, evidence), watched: health };
}

/**
 * Whether the judge has ended the quarantine of a board that missed earlier respites
 * (docs/judgement.md#links-that-flap); undefined if it missed none.
 */
function missedBy(record: BoardRecord | "no judge" | undefined, silence: SilenceFacts | undefined): BoundPod["missed"] {
  if (record === undefined || record === "no judge" || record.health.missed === undefined) return undefined;
  return record.mayTaint && silence?.missedMs !== undefined ? "released" : "quarantined";
}

/** Whether a board that we took out of service has given a sign of life since. Read from the API if `isDoubted`. */
async function confirmedNow(node: Node, isDoubted: boolean, site: SiteView): Promise<Confirmed | undefined> {
  if (taintOf(node, outOfService) === undefined || !isMarked(node)) return undefined;
  const key = boardLeaseKey(node.metadata.name);
  return sinceConfirmed(node, isDoubted ? await site.fetch(leases, key) : site.lister(leases).get(key));
}

const notJudged: SilenceFacts = { verdict: "alive", rule: "the board has not been checked yet" };

/**
 * Whether a pod left the cache because its board left the site. While the board's Node is in the cache, the pod was
 * deleted.
 */
async function isReleased(key: string, timer: EvictionTimer, site: SiteView): Promise<boolean> {
  const { board, uid } = timer;
  if (isSent(timer) || site.lister(nodes).get(board) !== undefined) return false;
  return (await site.fetch(pods, key))?.metadata.uid === uid;
}

const refOfKey = (key: string, uid: string) => ({
  resource: pods,
  namespace: key.slice(0, key.indexOf("/")),
  name: key.slice(key.indexOf("/") + 1),
  uid,
});

/** Whether the API still has the Node of a board. Asked only once the timer has expired, when the answer matters. */
async function fateOf(
  board: string,
  timer: EvictionTimer,
  site: SiteView,
): Promise<"not asked" | "released" | "deleted"> {
  if (ranFor(timer, site.now) < timer.length) return "not asked";
  return (await site.fetch(nodes, board)) === undefined ? "deleted" : "released";
}

const runningTaint = (budget: Budget | undefined, board: string, { now }: SiteView): RunningTaint | undefined =>
  budgetNow(budget, now)?.taints.get(board);

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

/**
 * The pods that were on tainted boards when a term began. The running times of their boards' taints, as the previous
 * leader recorded them, apply to these pods. The time of a pod that arrives later starts with its arrival.
 */
class FormerPods {
  readonly #uids = new Set<string>();

  /** Passes on the keys of a change, and notes its pod in the resync with which the term begins. */
  noteIn({ resync, after }: ObjectChange<Pod>, keys: readonly string[]): readonly string[] {
    if (resync === "first" && after && keys.length > 0) this.#uids.add(after.metadata.uid);
    return keys;
  }

  include({ metadata }: Pod): boolean {
    return this.#uids.has(metadata.uid);
  }
}

/** For how long the passes over the pods of a board share a read of its Node. */
const moment: Millis = 1000;

/** Reads of Nodes from the API. The pods of a board are often due at the same time. */
class NodeReads {
  readonly #reads = new Map<string, { readonly at: Instant; readonly node: Promise<Node | undefined> }>();

  /**
   * The Node as the API had it within the last second, but not in an older version than the cached one; undefined if
   * the API has no such Node.
   */
  async newerThan({ metadata: { name, resourceVersion } }: Node, site: SiteView): Promise<Node | undefined> {
    for (const [board, { at }] of this.#reads) if (elapsed(at, site.now) >= moment) this.#reads.delete(board);
    const recent = await this.#reads.get(name)?.node;
    if (recent && covers(recent.metadata.resourceVersion, resourceVersion)) return recent;
    const node = site.fetch(nodes, name);
    this.#reads.set(name, { at: site.now, node });
    return node;
  }
}

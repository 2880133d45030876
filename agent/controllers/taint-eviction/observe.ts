import type { Node, Pod, Taint } from "../../api/core.ts";
import { placeIn } from "../../api/meta.ts";
import { boardOf } from "../../api/pods.ts";
import { covers } from "../../api/resource-version.ts";
import { boardLeaseKey, leases, nodes, pods } from "../../api/resources.ts";
import { noExecuteTaints } from "../../api/taints.ts";
import { elapsed, type Instant, type Millis } from "../../base/clock.ts";
import type { Confirmed, SilenceFacts } from "../../decisions/grounds.ts";
import { type Holds, noHolds } from "../../holds/holds.ts";
import { isInStep } from "../../informer/watch-health.ts";
import { type Link, linkOf } from "../../judgement/link.ts";
import { silenceFacts } from "../../judgement/ruling.ts";
import type { SiteView } from "../../loop/controller.ts";
import { barePod } from "../bare-pod.ts";
import { livePod } from "../live-pod.ts";
import { type Circumstances, type LanAnswerOf, noLanAnswer, readyOf } from "../node-lifecycle/health.ts";
import type { BoardRecord } from "../node-lifecycle/memory.ts";
import { hasOwnTaint, sinceConfirmed } from "../node-lifecycle/out-of-service/mark.ts";
import type { NodeLifecycleSettings } from "../node-lifecycle/settings.ts";
import { examinedNow } from "../node-lifecycle/verdict-now.ts";
import { type Budget, budgetNow, type RunningTaint } from "../node-lifecycle/zones/budget.ts";
import { openValve, type ValveAt } from "../safety-valve.ts";
import { isToWeigh } from "./due-eviction.ts";
import type { FormerPods } from "./former-pods.ts";
import type { BoundPod, GonePod, OrphanPod, PodState } from "./pod-state.ts";
import { type OwnWord, ownWordOf, Prospects } from "./prospects.ts";
import { Thaw } from "./thaw.ts";
import { type EvictionTimer, isOfOwnTaints, isSent, ranFor } from "./timer.ts";
import { firstMatchingTolerations } from "./toleration-time.ts";

export interface PodObserverDeps {
  readonly settings: NodeLifecycleSettings;
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

/** A pod and its board: as the cache has them, or as the API has if they were read. */
interface KnownPod {
  readonly pod: Pod;
  readonly word: OwnWord;
  readonly board: string | undefined;
  readonly node: Node | undefined;
  readonly taints: readonly Taint[];
  /** Set if the API no longer has the pod, which the cache still shows. */
  readonly isGone?: true;
}

type PodOnBoard = KnownPod & { readonly board: string };
type PodOnNode = PodOnBoard & { readonly node: Node };

/**
 * Observes a pod and its board, for `decide`. Reads the caches, and from the API only what they cannot show:
 *
 * case                      | function      | from the API       | if
 * --------------------------|---------------|--------------------|---------------------------------------------------
 * the pod left the cache    | `goneState`   | the pod            | its board left too, and its deletion was not sent
 * its board left the cache  | `orphanState` | the pod            | its deletion is doubted, or met a conflict (*)
 *                           |               | the Node           | its timer has expired
 * its board is in the cache | `boundState`  | the Node, the pod  | its deletion is doubted, or met a conflict (*)
 *                           |               | the board's Lease  | doubted, and we took the board out of service
 *                           |               | namespace, volumes | only the gain is still unknown (`Prospects`)
 *
 * (*) After a conflict only if the caches are live: the pod was written since, so its board may be back, which a watch
 * may be late to show.
 */
export class PodObserver {
  readonly #deps: Required<PodObserverDeps>;
  readonly #former: FormerPods;
  readonly #thaw: Thaw;
  readonly #prospects: Prospects;
  readonly #nodeReads = new NodeReads();

  constructor(deps: PodObserverDeps, former: FormerPods) {
    this.#deps = {
      holds: () => noHolds,
      valve: () => openValve,
      wordOf: noLanAnswer,
      mayBeFormer: () => false,
      seesAllBoards: () => true,
      ...deps,
    };
    this.#former = former;
    this.#thaw = new Thaw(deps.settings);
    this.#prospects = new Prospects(this.#deps.seesAllBoards);
  }

  /** Undefined if there is nothing to decide: the pod has no timer and no taint that may start one. */
  async observe(key: string, site: SiteView, timer: EvictionTimer | undefined): Promise<PodState | undefined> {
    const cached = cachedPod(key, site);
    if (cached === undefined) return timer && (await goneState(key, timer, site));
    const { pod, board, node } = cached;
    if (board === undefined) return timer && { kind: "unbound", pod };
    if (node === undefined) return timer && (await this.#orphanState({ ...cached, board }, timer, site));
    if (timer === undefined && cached.taints.length === 0) return undefined;
    return await this.#boundState(key, { ...cached, board, node }, timer, site);
  }

  /** The pod's board has left the cache. */
  async #orphanState(cached: PodOnBoard, timer: EvictionTimer, site: SiteView): Promise<OrphanPod> {
    const { board } = cached;
    const { link, hold, shut } = this.#restraintsOn(cached, site);
    const live = isToRead(timer, link) ? await livePod(cached.pod, site) : undefined;
    const pod = live === undefined || live === "gone" ? cached.pod : reduced(live, []);
    return { kind: "orphan", pod, board, fate: await fateOf(board, timer, site), link, hold, shut };
  }

  /** The pod is bound to a board that is in the cache. */
  async #boundState(
    key: string,
    cached: PodOnNode,
    timer: EvictionTimer | undefined,
    site: SiteView,
  ): Promise<BoundPod> {
    const { settings, recordOf, wordOf, mayBeFormer, inherited } = this.#deps;
    const { board } = cached;
    const { link, holds, hold, shut } = this.#restraintsOn(cached, site);
    const isRead = timer?.deletion.isDoubted ?? false;
    const newest = timer && isToRead(timer, link) ? await this.#reread(cached, timer, site) : cached;
    const { node, pod, taints, word } = newest;
    const record = recordOf(board);
    const confirmed = await confirmedNow(node, isRead, site);
    const state: BoundPod = {
      kind: "bound",
      pod,
      board,
      taints,
      isRead,
      ...(confirmed && { confirmed }),
      isGone: newest.isGone ?? false,
      isInStep: isOneMoment(node, pod, site, settings),
      mayBeFormer: mayBeFormer(),
      ready: readyOf(node)?.status,
      link,
      ...judged(node, record, site, { link, holds, settings, wordOf }),
      hold,
      shut,
      inherited: this.#former.include(pod) ? runningTaint(inherited(), board, site) : undefined,
    };
    if (!isToWeigh(state, timer, settings, site.now)) return state;
    return { ...state, move: await this.#prospects.of(key, { board, word, isShut: shut !== undefined }, site) };
  }

  /** What may hold back any eviction from the board: the watches, the operators' holds and the safety valve. */
  #restraintsOn(
    { pod, board, node }: PodOnBoard,
    site: SiteView,
  ): Pick<OrphanPod, "link" | "hold" | "shut"> & { readonly holds: Holds } {
    const { settings, holds: holdsAt, valve } = this.#deps;
    const link = linkOf({ nodes: site.watch(nodes), leases: site.watch(leases) }, settings, site.now);
    const holds = holdsAt(site.now);
    const { shut } = valve(site.now, pod.metadata.namespace);
    return { link, holds, hold: this.#thaw.holdOn(holds, { board, node }, site), shut };
  }

  /** The pod and its Node as the API has them now; the cached one of each that the API no longer has. */
  async #reread(cached: PodOnNode, timer: EvictionTimer, site: SiteView): Promise<PodOnNode> {
    const read = isOfOwnTaints(timer)
      ? this.#nodeReads.newerThan(cached.node, site)
      : site.fetch(nodes, cached.node.metadata.name);
    const node = (await read) ?? cached.node;
    const taints = noExecuteTaints(node);
    const live = await livePod(cached.pod, site);
    if (live === "gone") return { ...cached, node, taints, isGone: true };
    return { ...cached, node, taints, pod: reduced(live, taints), word: ownWordOf(live) };
  }
}

/** The cached pod with its board, reduced to the needed parts, because a pass holds it while it waits for the API. */
function cachedPod(key: string, site: SiteView): KnownPod | undefined {
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

/** The pod has left the cache. */
const goneState = async (key: string, timer: EvictionTimer, site: SiteView): Promise<GonePod> => ({
  kind: "gone",
  pod: refOfKey(key, timer.uid),
  released: await isReleased(key, timer, site),
});

const refOfKey = (key: string, uid: string) => ({ resource: pods, namespace: undefined, ...placeIn(key), uid });

/**
 * Whether a pod left the cache because its board left the site. While the board's Node is in the cache, the pod was
 * deleted.
 */
async function isReleased(key: string, timer: EvictionTimer, site: SiteView): Promise<boolean> {
  const { board, uid } = timer;
  if (isSent(timer) || site.lister(nodes).get(board) !== undefined) return false;
  return (await site.fetch(pods, key))?.metadata.uid === uid;
}

/** Whether the API still has the Node of a board. Asked only once the timer has expired, when the answer matters. */
async function fateOf(
  board: string,
  timer: EvictionTimer,
  site: SiteView,
): Promise<"not asked" | "released" | "deleted"> {
  if (ranFor(timer, site.now) < timer.length) return "not asked";
  return (await site.fetch(nodes, board)) === undefined ? "deleted" : "released";
}

/** Whether the pod and its Node are read from the API. */
const isToRead = ({ deletion }: EvictionTimer, { live }: Link): boolean =>
  deletion.isDoubted || (deletion.metConflict && live);

/** Whether a board that we took out of service has given a sign of life since. Read from the API if `isDoubted`. */
async function confirmedNow(node: Node, isDoubted: boolean, site: SiteView): Promise<Confirmed | undefined> {
  if (!hasOwnTaint(node)) return undefined;
  const key = boardLeaseKey(node.metadata.name);
  return sinceConfirmed(node, isDoubted ? await site.fetch(leases, key) : site.lister(leases).get(key));
}

/**
 * Whether the caches show the Node and the pod as the server had them at one moment. Both watches may be live although
 * one of them is minutes late, because they share a link, and a large event delays later ones on its own stream.
 */
const isOneMoment = (node: Node, pod: Pod, site: SiteView, settings: NodeLifecycleSettings): boolean =>
  [nodes, pods].every((resource) => isInStep(site.watch(resource), settings, site.now)) &&
  covers(site.position(pods), node.metadata.resourceVersion) &&
  covers(site.position(nodes), pod.metadata.resourceVersion);

/** The verdict on the board now, with its evidence; all undefined if this agent judges no boards. */
function judged(
  node: Node,
  record: BoardRecord | "no judge" | undefined,
  site: SiteView,
  context: Omit<Circumstances, "now"> & { readonly wordOf: LanAnswerOf },
): Pick<BoundPod, "silence" | "watched" | "missed"> {
  if (record === "no judge") return { silence: undefined, watched: undefined, missed: undefined };
  if (record === undefined) return { silence: notJudged, watched: undefined, missed: undefined };
  const { verdict, evidence, health } = examinedNow(node, record, site, context);
  const silence = silenceFacts(verdict, evidence);
  return { silence, watched: health, missed: missedBy(record, silence) };
}

/**
 * Whether the judge has ended the quarantine of a board that missed earlier respites
 * (docs/judgement.md#links-that-flap); undefined if it missed none.
 */
function missedBy({ health, mayTaint }: BoardRecord, { missedMs }: SilenceFacts): BoundPod["missed"] {
  if (health.missed === undefined) return undefined;
  return mayTaint && missedMs !== undefined ? "released" : "quarantined";
}

const notJudged: SilenceFacts = { verdict: "alive", rule: "the board has not been checked yet" };

const runningTaint = (budget: Budget | undefined, board: string, { now }: SiteView): RunningTaint | undefined =>
  budgetNow(budget, now)?.taints.get(board);

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

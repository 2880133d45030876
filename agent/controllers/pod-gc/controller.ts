import type { Pod } from "../../api/core.ts";
import { boardOf, hasEnded, isKeptByFinalizers, isTerminating } from "../../api/pods.ts";
import { covers } from "../../api/resource-version.ts";
import { boardLeaseKey, leases, nodes, pods } from "../../api/resources.ts";
import { isOutOfService } from "../../api/taints.ts";
import { alternating } from "../../base/alternating.ts";
import type { Millis } from "../../base/clock.ts";
import { forEachConcurrently } from "../../base/concurrency/for-each-concurrently.ts";
import type { Steps } from "../../base/steps.ts";
import type { Controller, SiteView } from "../../loop/controller.ts";
import { barePod } from "../bare-pod.ts";
import { type BoardVerdictDeps, type BoardVerdicts, boardVerdicts } from "../board-verdicts.ts";
import { confirmerOf, hasOwnTaint, sinceConfirmed } from "../node-lifecycle/out-of-service/mark.ts";
import { openValve, type ShutOn } from "../safety-valve.ts";
import {
  type Abandoned,
  decide,
  firstGcMemory,
  type GcMemory,
  type GcPass,
  type GcState,
  isDue,
  remember,
} from "./decide.ts";
import { podsToCollect } from "./ended.ts";
import { FairShare } from "./fair-share.ts";
import { type MissingBoard, missingBoards } from "./missing-boards.ts";

export interface PodGcDeps {
  readonly verdictDeps: BoardVerdictDeps;
  /** Number of terminated pods that are kept; 0 keeps all of them. */
  readonly terminatedThreshold: number;
}

/** The whole site is one key, because garbage is found by a periodic pass over the site, not by changes. */
const siteKey = "site";

/**
 * Maximum number of pods deleted per pass; the others wait for the next one. Only the needed parts of each are kept in
 * memory, because a tenant may bind a thousand large pods to a board that never existed.
 */
const maxPods = 1000;
/** Ended pods harm nothing, but have to be deleted at some time, even while others always use up `maxPods`. */
const minEnded = 100;
/** Maximum number of reads from the API: for boards in one pass, and for pods whose deletion met a conflict. */
const maxRequests = 64;
/** Tolerance for timers that fire early. */
const early: Millis = 1;

/**
 * Deletes pods that are no longer needed and that no kubelet will delete, by the four rules of kube-controller-manager.
 * Finds them by index, and so reads few pods.
 *
 * rule                                          | found by          | precondition    | held by freezes and the safety valve
 * ----------------------------------------------|-------------------|-----------------|-------------------------------------
 * ended, above the threshold                    | `endedPods`       | uid             | no
 * terminating on a board that is out of service | `terminatingPods` | uid and version | no
 * on a board whose Node is deleted              | `orphanedPods`    | uid and version | yes
 * terminating, never bound to a board           | `terminatingPods` | uid             | no
 */
export const podGC = ({ verdictDeps, terminatedThreshold }: PodGcDeps): Controller<GcState, GcMemory> => ({
  name: "pod-gc",
  reads: [nodes, leases, pods],
  restsOn: [nodes, pods],
  mappings: [],
  firstKeys: [siteKey],
  initialMemory: firstGcMemory,
  async observe(_key, site, memory) {
    const { now } = site;
    const isEarly = memory.passAt !== undefined && now.mono < memory.passAt.mono - early;
    if (isEarly && memory.overtaken.size === 0) return { kind: "idle" };
    if (verdictDeps.judge() === undefined) return { kind: "unchecked" };
    const verdicts = boardVerdicts(verdictDeps, site);
    const { held, freezeOn } = verdicts;
    if (held !== undefined) return { kind: "paused", why: held };
    const { valve = () => openValve } = verdictDeps;
    const shut: ShutOn = (namespace) => valve(now, namespace).shut;
    if (isEarly) return { kind: "retryConflicts", shut, ...(await readConflicts(memory.overtaken, verdicts, site)) };
    const missing = await site.inTurns(missingBoards(site));
    // Boards that have waited longest come first, and namespaces take turns, because invented boards must not delay
    // others.
    const due = missing
      .filter(({ name }) => isDue(memory.waiting.get(name), now))
      .sort((a, b) => dueSince(memory, a.name) - dueSince(memory, b.name));
    const inTurn = alternating(due, ({ namespaces }) => namespaces);
    const next = await site.inTurns(unfrozen(names(inTurn), freezeOn));
    const lookups = await nodeLookups(next, site);
    const { abandoned, ...found } = await site.inTurns(podsToGo(site, terminatedThreshold, lookups));
    const outOfService = await stillOutOfService(abandoned, verdicts, site);
    return {
      kind: "pass",
      shut,
      ...found,
      outOfService,
      missing: names(missing),
      lookups,
    };
  },
  decide,
  decideAfterWrites: remember,
});

const dueSince = ({ waiting }: GcMemory, board: string): Millis => waiting.get(board)?.mono ?? 0;

/** The first boards whose pods no freeze keeps; a step for each, because a tenant may name any number of boards. */
function* unfrozen(boards: readonly string[], freezeOn: BoardVerdicts["freezeOn"]): Steps<readonly string[]> {
  const found: string[] = [];
  for (const board of boards) {
    if (found.length === maxRequests) break;
    if (freezeOn(board) === undefined) found.push(board);
    yield;
  }
  return found;
}

const names = (boards: readonly MissingBoard[]): readonly string[] => boards.map(({ name }) => name);

/**
 * Reads the Nodes of missing boards from the API. Errors are not reported here, because the link's own checks report
 * them.
 */
async function nodeLookups(boards: readonly string[], site: SiteView): Promise<GcPass["lookups"]> {
  const lookups = new Map<string, "deleted" | "exists" | "unanswered">(boards.map((board) => [board, "unanswered"]));
  await forEachConcurrently(boards, async (board) => {
    lookups.set(board, (await site.fetch(nodes, board)) === undefined ? "deleted" : "exists");
  });
  return lookups;
}

/**
 * The pods whose deletion met a conflict and that must still be deleted, read from the API because the cache may be
 * behind.
 */
async function readConflicts(
  overtaken: ReadonlySet<string>,
  verdicts: BoardVerdicts,
  site: SiteView,
): Promise<Pick<GcPass, "outOfService" | "orphans">> {
  const live: { readonly pod: Pod; readonly board: string }[] = [];
  await forEachConcurrently([...overtaken].slice(0, maxRequests), async (key) => {
    const pod = await site.fetch(pods, key);
    const board = pod && boardOf(pod);
    if (pod && board !== undefined) live.push({ pod: barePod(pod), board });
  });
  const missing = live.map(({ board }) => board).filter((board) => site.lister(nodes).get(board) === undefined);
  const lost = new Set(missing.filter((board) => verdicts.freezeOn(board) === undefined));
  const lookups = await nodeLookups([...lost], site);
  const orphans = live.filter(({ board }) => lookups.get(board) === "deleted");
  const outOfService = live.filter(
    ({ pod, board }) => isTerminating(pod) && isOutOfService(site.lister(nodes).get(board)),
  );
  return {
    orphans: orphans.map(({ pod, board }) => ({ board, pods: [pod], hasMore: false })),
    outOfService: await stillOutOfService(
      outOfService.map(({ pod }) => pod),
      verdicts,
      site,
    ),
  };
}

/**
 * The pods whose board was out of service at their last write or later. If the cache of Nodes may be staler than that
 * write, it may lack the board's return, so the board's Node is read from the API. A board that we took out of service
 * ourselves is always read, with its Lease. A pod whose board could not be read waits for a later pass.
 */
async function stillOutOfService(
  found: readonly Pod[],
  { verdictOn }: BoardVerdicts,
  site: SiteView,
): Promise<readonly Abandoned[]> {
  const position = site.position(nodes);
  const isCovered = ({ metadata }: Pod): boolean => covers(position, metadata.resourceVersion);
  const isOurs = (board: string): boolean => {
    const node = site.lister(nodes).get(board);
    return node !== undefined && hasOwnTaint(node);
  };
  const onBoard = new Map<string, Pod[]>();
  for (const pod of found) {
    const board = boardOf(pod) ?? "";
    const others = onBoard.get(board);
    if (others) others.push(pod);
    else onBoard.set(board, [pod]);
  }
  const toRead = [...onBoard].flatMap(([board, on]) => (isOurs(board) || !on.every(isCovered) ? [board] : []));
  const read = new Map<string, Omit<Abandoned, "pod">>();
  await forEachConcurrently(toRead.slice(0, maxRequests), async (board) => {
    const node = await site.fetch(nodes, board);
    if (node === undefined || !isOutOfService(node)) return;
    const confirmed = hasOwnTaint(node) && sinceConfirmed(node, await site.fetch(leases, boardLeaseKey(board)));
    read.set(board, confirmed ? { word: { confirmed, silence: verdictOn(board), confirmer: confirmerOf(node) } } : {});
  });
  return [...onBoard].flatMap(([board, on]) => {
    const answer = read.get(board);
    const still = answer ? on : isOurs(board) ? [] : on.filter(isCovered);
    return still.map((pod) => ({ pod, ...answer }));
  });
}

/**
 * The pods that the rules find in the cache: those of lost boards and unbound ones at most `maxPods`, in which namespaces
 * have equal shares, and ended ones in what room is left, but at least `minEnded`.
 */
function* podsToGo(
  site: SiteView,
  threshold: number,
  lookups: GcPass["lookups"],
): Steps<Pick<GcPass, "ended"> & PodsOfLost> {
  const found = new FairShare<Found>(maxPods, ({ pod }) => pod.metadata.namespace ?? "");
  const crowded = new Set<string>();
  const add = (one: Found): void => {
    const left = found.add(one);
    if (left?.orphanOf !== undefined) crowded.add(left.orphanOf);
  };
  yield* findTerminating(site, add);
  for (const [board, lookup] of lookups) {
    if (lookup !== "deleted") continue;
    for (const pod of site.lister(pods).byIndex("byNode", board)) {
      yield;
      if (!isKeptByFinalizers(pod)) add({ pod: barePod(pod), orphanOf: board });
    }
  }
  const ended = yield* endedPods(site, threshold, Math.max(minEnded, maxPods - found.count));
  return { ended, ...sorted(found.inTurns(), crowded, lookups) };
}

/** A pod to delete. */
interface Found {
  readonly pod: Pod;
  /** Its board, whose Node was deleted; undefined for a pod that was never bound, or whose board is out of service. */
  readonly orphanOf?: string;
}

/** Ended pods above the threshold, in the order of their deletion. */
function* endedPods(site: SiteView, threshold: number, most: number): Steps<readonly Pod[]> {
  const cached = site.lister(pods);
  if (threshold === 0 || cached.countByIndex("byEnd", "ended") <= threshold) return [];
  const found: Pod[] = [];
  const first = podsToCollect(() => cached.byIndex("byEnd", "ended"), { threshold, most });
  for (const key of yield* first) {
    const pod = cached.get(key);
    // The index was read in several steps, so the key may belong to another pod by now.
    if (pod && hasEnded(pod) && !isKeptByFinalizers(pod)) found.push(barePod(pod));
    yield;
  }
  return found;
}

interface PodsOfLost extends Pick<GcPass, "orphans" | "unbound"> {
  /** Terminating pods on boards that are out of service. */
  readonly abandoned: readonly Pod[];
}

/** Terminating pods that were never bound, or whose boards are out of service. */
function* findTerminating(site: SiteView, add: (one: Found) => void): Steps<void> {
  for (const pod of site.lister(pods).byIndex("byEnd", "terminating")) {
    yield;
    if (isKeptByFinalizers(pod)) continue;
    const board = boardOf(pod);
    if (board === undefined || isOutOfService(site.lister(nodes).get(board))) add({ pod: barePod(pod) });
  }
}

/** `crowded`: deleted boards that have more pods than were found. */
function sorted(found: readonly Found[], crowded: ReadonlySet<string>, lookups: GcPass["lookups"]): PodsOfLost {
  const onBoard = Map.groupBy(found, ({ orphanOf }) => orphanOf);
  const terminating = (onBoard.get(undefined) ?? []).map(({ pod }) => pod);
  return {
    abandoned: terminating.filter((pod) => boardOf(pod) !== undefined),
    unbound: terminating.filter((pod) => boardOf(pod) === undefined),
    orphans: [...lookups].flatMap(([board, lookup]) => {
      if (lookup !== "deleted") return [];
      const orphans = onBoard.get(board) ?? [];
      return [{ board, pods: orphans.map(({ pod }) => pod), hasMore: crowded.has(board) }];
    }),
  };
}

import type { Node, Pod } from "../../api/core.ts";
import { boardOf, isKeptByFinalizers, isTerminating } from "../../api/pods.ts";
import { leases, nodes, pods } from "../../api/resources.ts";
import { taintsOf } from "../../api/taints.ts";
import type { Millis } from "../../base/clock.ts";
import type { Controller, SiteView } from "../../loop/controller.ts";
import { type BoardVerdicts, type SightParts, sightOf } from "../board-verdicts.ts";
import { forEachConcurrently } from "../node-lifecycle/for-each-concurrently.ts";
import { readyOf } from "../node-lifecycle/health.ts";
import {
  decide,
  firstGcMemory,
  type GcMemory,
  type GcPass,
  type GcState,
  isDue,
  type Orphans,
  remember,
} from "./decide.ts";
import { firstToGo } from "./ended.ts";

export interface PodGcParts {
  readonly sight: SightParts;
  /** Pods that have run to their end and are kept; 0: all of them. */
  readonly terminatedThreshold: number;
}

/** The whole site is one key: what is garbage is found by a walk over it, not by a change. */
const siteKey = "site";

/** Pods that one pass deletes: the rest comes in the next one, and does not have to fit into memory at once. */
const mostPods = 1000;
/** Boards that the API is asked about in one pass. */
const mostQuestions = 64;
/** A timer may be early by less than this. */
const early: Millis = 1;

const outOfServiceTaint = "node.kubernetes.io/out-of-service";

/** Deletes pods that are of no use any more, and whose kubelet will not do it. Indices find them: most pods are not looked at. */
export const podGC = ({ sight, terminatedThreshold }: PodGcParts): Controller<GcState, GcMemory> => ({
  name: "pod-gc",
  reads: [nodes, leases, pods],
  restsOn: [nodes, pods],
  wakes: [],
  firstKeys: [siteKey],
  initialMemory: firstGcMemory,
  async observe(_key, site, memory) {
    const { now } = site;
    const isEarly = memory.passAt !== undefined && now.mono < memory.passAt.mono - early;
    if (isEarly && memory.overtaken.size === 0) return { kind: "early" };
    const { held, freezeOn } = sightOf(sight, site);
    if (held !== undefined) return { kind: "held", why: held };
    if (isEarly) return { kind: "again", ...(await stillToGo(memory.overtaken, freezeOn, site)) };
    const missing = [...site.lister(pods).indexValues("byNode")].filter(
      (board) => site.lister(nodes).get(board) === undefined,
    );
    // Those that wait longest first: names that no board ever had, on a tenant's pods, must not take the turns of others.
    const due = missing
      .filter((board) => isDue(memory.waiting.get(board), now) && freezeOn(board) === undefined)
      .sort((a, b) => dueSince(memory, a) - dueSince(memory, b))
      .slice(0, mostQuestions);
    const fates = await fatesOf(due, site);
    return { kind: "pass", ...podsToGo(site, terminatedThreshold, fates), missing, fates };
  },
  decide,
  remember,
});

const dueSince = ({ waiting }: GcMemory, board: string): Millis => waiting.get(board)?.mono ?? 0;

/** Why the API does not answer is for the link's own loops to tell. */
async function fatesOf(boards: readonly string[], site: SiteView): Promise<GcPass["fates"]> {
  const fates = new Map<string, "deleted" | "exists" | "unanswered">(boards.map((board) => [board, "unanswered"]));
  await forEachConcurrently(boards, async (board) => {
    fates.set(board, (await site.fetch(nodes, board)) === undefined ? "deleted" : "exists");
  });
  return fates;
}

/**
 * Of the pods that were overtaken those that have to go all the same, as the API has them now: the cache may be as far
 * behind as it was before.
 */
async function stillToGo(
  overtaken: ReadonlySet<string>,
  freezeOn: BoardVerdicts["freezeOn"],
  site: SiteView,
): Promise<Pick<GcPass, "outOfService" | "orphans">> {
  const live: { readonly pod: Pod; readonly board: string }[] = [];
  await forEachConcurrently([...overtaken].slice(0, mostQuestions), async (key) => {
    const pod = await site.fetch(pods, key);
    const board = pod && boardOf(pod);
    if (pod && board !== undefined && freezeOn(board) === undefined) live.push({ pod, board });
  });
  const lost = new Set(live.map(({ board }) => board).filter((board) => site.lister(nodes).get(board) === undefined));
  const fates = await fatesOf([...lost], site);
  const orphans = live.filter(({ board }) => fates.get(board) === "deleted");
  const outOfService = live.filter(
    ({ pod, board }) => isTerminating(pod) && isOutOfService(site.lister(nodes).get(board)),
  );
  return {
    orphans: orphans.map(({ pod, board }) => ({ board, pods: [pod], isPart: false })),
    outOfService: outOfService.map(({ pod }) => pod),
  };
}

function podsToGo(
  site: SiteView,
  threshold: number,
  fates: GcPass["fates"],
): Pick<GcPass, "ended" | "outOfService" | "orphans" | "unbound"> {
  const cached = site.lister(pods);
  const budget = new Budget(mostPods);
  const excess = threshold > 0 ? cached.countByIndex("byEnd", "ended") - threshold : 0;
  const ended: Pod[] = [];
  for (const key of excess > 0 ? firstToGo(cached.byIndex("byEnd", "ended"), excess) : []) {
    const pod = cached.get(key);
    if (pod && !isKeptByFinalizers(pod) && budget.take(1) === 1) ended.push(pod);
  }
  const outOfService: Pod[] = [];
  const unbound: Pod[] = [];
  for (const pod of cached.byIndex("byEnd", "terminating")) {
    if (isKeptByFinalizers(pod)) continue;
    const board = boardOf(pod);
    const into =
      board === undefined ? unbound : isOutOfService(site.lister(nodes).get(board)) ? outOfService : undefined;
    if (into && budget.take(1) === 1) into.push(pod);
  }
  const orphans: Orphans[] = [];
  for (const [board, fate] of fates) {
    if (fate === "deleted") orphans.push(orphansOf(board, cached.byIndex("byNode", board), budget));
  }
  return { ended, outOfService, orphans, unbound };
}

function orphansOf(board: string, onBoard: Iterable<Pod>, budget: Budget): Orphans {
  const found: Pod[] = [];
  for (const pod of onBoard) {
    if (isKeptByFinalizers(pod)) continue;
    if (budget.take(1) === 0) return { board, pods: found, isPart: true };
    found.push(pod);
  }
  return { board, pods: found, isPart: false };
}

/** An operator says that it is gone for good; as long as it reports itself ready that is not believed. */
const isOutOfService = (node: Node | undefined): boolean =>
  node !== undefined && readyOf(node)?.status !== "True" && taintsOf(node).some(({ key }) => key === outOfServiceTaint);

class Budget {
  #left: number;

  constructor(left: number) {
    this.#left = left;
  }

  /** As much of it as is left. */
  take(wanted: number): number {
    const taken = Math.min(wanted, this.#left);
    this.#left -= taken;
    return taken;
  }
}

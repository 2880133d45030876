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
  /** Number of terminated pods that are kept; 0: all. */
  readonly terminatedThreshold: number;
}

/** The whole site is one key: garbage is found by a walk, not by a change. */
const siteKey = "site";

/** Most pods deleted per pass; the rest waits for the next one, so not all have to fit into memory. */
const mostPods = 1000;
/** Most boards per pass that the API is asked about. */
const mostQuestions = 64;
/** Tolerance for timers that fire early. */
const early: Millis = 1;

const outOfServiceTaint = "node.kubernetes.io/out-of-service";

/**
 * Deletes pods that are no longer needed and that no kubelet will delete. Finds them by index: most pods are never
 * read.
 */
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
    // The longest waiting first: a tenant's pods that name boards which never existed must not take the turns of
    // others.
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

/** Errors are not reported here: the loops of the link report why the API does not answer. */
async function fatesOf(boards: readonly string[], site: SiteView): Promise<GcPass["fates"]> {
  const fates = new Map<string, "deleted" | "exists" | "unanswered">(boards.map((board) => [board, "unanswered"]));
  await forEachConcurrently(boards, async (board) => {
    fates.set(board, (await site.fetch(nodes, board)) === undefined ? "deleted" : "exists");
  });
  return fates;
}

/** Of the overtaken pods, those that still have to be deleted, as read from the API: the cache may still be behind. */
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

/** An operator marked the Node out of service; ignored while it reports itself ready. */
const isOutOfService = (node: Node | undefined): boolean =>
  node !== undefined && readyOf(node)?.status !== "True" && taintsOf(node).some(({ key }) => key === outOfServiceTaint);

class Budget {
  #left: number;

  constructor(left: number) {
    this.#left = left;
  }

  /** Takes up to `wanted` of what is left, and returns how many. */
  take(wanted: number): number {
    const taken = Math.min(wanted, this.#left);
    this.#left -= taken;
    return taken;
  }
}

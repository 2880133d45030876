import type { Node, Pod } from "../../api/core.ts";
import { keyOf } from "../../api/meta.ts";
import { boardOf } from "../../api/pods.ts";
import { leases, nodes, pods } from "../../api/resources.ts";
import { noExecuteTaints } from "../../api/taints.ts";
import { elapsed, type Instant, type Millis } from "../../base/clock.ts";
import { type Holds, noHolds } from "../../holds/holds.ts";
import { linkOf } from "../../judgement/link.ts";
import type { Verdict } from "../../judgement/verdict.ts";
import { type Controller, type Seen, type SiteView, wake } from "../../loop/controller.ts";
import { asItIsNow } from "../as-it-is-now.ts";
import type { Budget } from "../node-lifecycle/budget.ts";
import { type Circumstances, readyOf } from "../node-lifecycle/health.ts";
import type { BoardRecord, RunningTaint } from "../node-lifecycle/memory.ts";
import type { NodeLifecycleSettings } from "../node-lifecycle/settings.ts";
import { verdictNow } from "../node-lifecycle/verdict-now.ts";
import { decide, type PodState, remember } from "./decide.ts";
import { Thaw } from "./thaw.ts";
import { deadlineOf, durableTimers, type Timer } from "./timer.ts";
import { identityOf } from "./window.ts";

export interface TaintEvictionParts {
  readonly settings: NodeLifecycleSettings;
  /** Identifies the current boot of the board. */
  readonly boot: string;
  /** The former leader's budget. */
  readonly inherited: () => Budget | undefined;
  /** The judging controller's record of a board; `undefined`: none yet. */
  readonly judged: (board: string) => BoardRecord | "by nobody" | undefined;
  /** The operators' holds; default: none. */
  readonly holds?: (now: Instant) => Holds;
}

/**
 * Pods seen within this time from the start of a term were on their board before, so the taint's running time reported
 * by the former leader applies to them. For later pods the time starts when they arrive.
 */
const young: Millis = 60_000;

/** Deletes pods whose tolerations of their board's NoExecute taints have expired. */
export const taintEviction = ({
  settings,
  boot,
  inherited,
  judged,
  holds: holdsAt = () => noHolds,
}: TaintEvictionParts): Controller<PodState, Timer | undefined> => {
  const thaw = new Thaw(settings);
  return {
    name: "taint-eviction",
    reads: [nodes, leases, pods],
    restsOn: [nodes, pods],
    wakes: [wake(pods, podKeys), wake(nodes, keysOnBoard)],
    initialMemory: undefined,
    durable: durableTimers(boot),
    async observe(key, site, memory) {
      const cached = site.lister(pods).get(key);
      if (cached === undefined) {
        const released = memory !== undefined && (await isReleased(key, memory, site));
        return memory && { kind: "gone", pod: refOfKey(key, memory.uid), released };
      }
      const board = boardOf(cached);
      if (board === undefined) return memory && { kind: "unbound", pod: cached };
      const link = linkOf({ nodes: site.watch(nodes), leases: site.watch(leases) }, settings, site.now);
      const node = site.lister(nodes).get(board);
      const holds = holdsAt(site.now);
      const heldUntil = thaw.heldUntil(holds, { board, node }, site);
      const pod = memory?.overtaken && link.live ? await asItIsNow(cached, site) : cached;
      if (node === undefined)
        return memory && { kind: "orphan", pod, board, fate: await fateOf(board, memory, site), link, heldUntil };
      const taints = noExecuteTaints(node);
      if (taints.length === 0 && memory === undefined) return undefined;
      const ready = readyOf(node)?.status;
      const verdict = verdictOn(node, judged(board), site, { link, holds, settings });
      return {
        kind: "bound",
        pod,
        board,
        taints,
        ready,
        link,
        verdict,
        heldUntil,
        inherited: runningTaint(inherited(), board, site),
      };
    },
    decide: (state, memory, now) => decide(state, memory, settings, now),
    remember,
  };
};

function verdictOn(
  node: Node,
  record: BoardRecord | "by nobody" | undefined,
  site: SiteView,
  circumstances: Omit<Circumstances, "now">,
): Verdict | undefined {
  if (record === "by nobody") return undefined;
  if (record === undefined) return notJudged;
  return verdictNow(node, record, site, circumstances);
}

const notJudged: Verdict = { verdict: "alive", rule: "was not looked at yet" };

/**
 * A board that leaves the site takes its pods along. While its Node is in the cache, a pod that vanished was deleted.
 */
async function isReleased(key: string, { board, uid, asked }: Timer, site: SiteView): Promise<boolean> {
  if (asked !== undefined || site.lister(nodes).get(board) !== undefined) return false;
  return (await site.fetch(pods, key))?.metadata.uid === uid;
}

const refOfKey = (key: string, uid: string) => ({
  resource: pods,
  namespace: key.slice(0, key.indexOf("/")),
  name: key.slice(key.indexOf("/") + 1),
  uid,
});

/** Asks the API only once the timer has expired, when the answer decides over a pod. */
async function fateOf(board: string, timer: Timer, site: SiteView): Promise<"not asked" | "released" | "deleted"> {
  if (deadlineOf(timer).mono > site.now.mono) return "not asked";
  return (await site.fetch(nodes, board)) === undefined ? "deleted" : "released";
}

const runningTaint = (budget: Budget | undefined, board: string, { now }: SiteView): RunningTaint | undefined =>
  budget !== undefined && elapsed(budget.readAt, now) <= young ? budget.taints.get(board) : undefined;

/** Most pods have no timer and are on a board without taints: they are not enqueued. */
function podKeys({ key, before, after }: Seen<Pod>, site: SiteView): readonly string[] {
  if (after === undefined) return [key];
  const board = boardOf(after);
  const isAnother = before !== undefined && before.metadata.uid !== after.metadata.uid;
  const moved = before === undefined || isAnother || boardOf(before) !== board;
  if (!moved && isSameText(before.spec?.tolerations, after.spec?.tolerations)) return [];
  if (before !== undefined && moved) return [key];
  const node = board === undefined ? undefined : site.lister(nodes).get(board);
  return node !== undefined && noExecuteTaints(node).length > 0 ? [key] : [];
}

/**
 * A deleted Node counts too: it may come back without the taints to which its pods' timers belong. One pod at a time:
 * together they may be larger than the heap.
 */
function* keysOnBoard({ key, before, after }: Seen<Node>, site: SiteView): Generator<string> {
  if (isSameText(taintIdentities(before), taintIdentities(after))) return;
  for (const pod of site.lister(pods).byIndex("byNode", key)) yield keyOf(pod);
}

const taintIdentities = (node: Node | undefined): readonly string[] =>
  node === undefined ? [] : noExecuteTaints(node).map(identityOf);

const isSameText = (a: unknown, b: unknown): boolean => JSON.stringify(a ?? []) === JSON.stringify(b ?? []);

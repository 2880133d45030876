import type { DaemonSet, Node, Pod } from "../../api/core.ts";
import { keyOf } from "../../api/meta.ts";
import { controllerRevisions, daemonSets, nodes, pods } from "../../api/resources.ts";
import { elapsed, type Instant } from "../../base/clock.ts";
import { forEachConcurrently } from "../../base/concurrency/for-each-concurrently.ts";
import { TerminalError } from "../../base/errors.ts";
import { endsStep, type Steps } from "../../base/steps.ts";
import type { Grounds, SilenceFacts } from "../../decisions/grounds.ts";
import { type Action, refTo } from "../../execution/actions.ts";
import { rulingOf } from "../../judgement/ruling.ts";
import type { SiteView } from "../../loop/controller.ts";
import { type BoardVerdictDeps, type BoardVerdicts, boardVerdicts } from "../board-verdicts.ts";
import { outstanding } from "../expectations.ts";
import { fetchReadable } from "../fetch-readable.ts";
import { livePod } from "../live-pod.ts";
import { readyOf } from "../node-lifecycle/health.ts";
import type { Board, Silence } from "./board.ts";
import { readClaimed } from "./claimed.ts";
import { bareDaemonPod, targetOf } from "./daemon-pod.ts";
import { eligibilityOf } from "./eligibility.ts";
import { type History, historyOf, type KnownRevision, knownRevision, newRevision, revisionName } from "./history.ts";
import { memoryOf, type SetMemory } from "./memory.ts";
import { isStillOversized } from "./oversized-revision.ts";
import type { SetState } from "./pass.ts";
import { selectorOf } from "./selector.ts";

/**
 * Maximum number of requests to the API per pass: for missing Nodes, and the same number again for pods whose deletion
 * met a conflict.
 */
const maxRequests = 32;

export async function observe(
  key: string,
  site: SiteView,
  memory: SetMemory,
  verdictDeps: BoardVerdictDeps,
): Promise<SetState | undefined> {
  const set = site.lister(daemonSets).get(key);
  if (set === undefined) return undefined;
  const selector = selectorOf(set);
  if (selector === undefined) throw new TerminalError(`the selector of DaemonSet ${key} cannot be read`);
  if (selector.length === 0) return { kind: "idle", set, events: [selectsAll(set)] };
  if (set.metadata.deletionTimestamp !== undefined) return { kind: "idle", set, events: [] };
  const { expected: before, overtaken, oversized } = memoryOf(memory, set.metadata.uid);
  // Without a revision, nothing can be done, and each attempt would hash, escape and perhaps send megabytes.
  if (oversized !== undefined && isStillOversized(set, oversized)) {
    throw new TerminalError(
      `DaemonSet ${key} is too large, together with its annotations, for the API to accept a revision of it`,
    );
  }
  // Checked before the pods are read, so that the pods include all those that the cache shows at this point.
  const expected = await outstanding(before, pods, site);
  const claimed = await readClaimed(set, selector, site);
  if (claimed === undefined) return { kind: "stale" };
  const history = await historyNow(set, historyOf(claimed.revisions), site);
  if (history === "stale") return { kind: "stale" };
  if ("live" in history) return { kind: "collision", live: history.live };
  const boards = await site.inTurns(boardsOf(set, site, boardVerdicts(verdictDeps, site), verdictDeps));
  const { claims } = claimed;
  const mine = overtaken.size === 0 ? claimed.pods : await refreshed(claimed.pods, overtaken, site);
  return { kind: "work", set, boards, vanished: await vanished(mine, site), pods: mine, history, claims, expected };
}

/** The pods of a set. Those whose deletion met a conflict are read again from the API. */
async function refreshed(
  mine: readonly Pod[],
  overtaken: ReadonlySet<string>,
  site: SiteView,
): Promise<readonly Pod[]> {
  const live = new Map<string, Pod>();
  const conflicted = mine.filter((pod) => overtaken.has(keyOf(pod))).slice(0, maxRequests);
  await forEachConcurrently(conflicted, async (pod) => {
    const read = await livePod(pod, site);
    if (read !== "gone") live.set(read.metadata.uid, bareDaemonPod(read));
  });
  return mine.map((pod) => live.get(pod.metadata.uid) ?? pod);
}

const selectsAll = (set: DaemonSet): Action => ({
  do: "event",
  about: refTo(daemonSets, set),
  severity: "Warning",
  reason: "SelectingAll",
  message: "This daemon set is selecting all pods. A non-empty selector is required.",
});

/**
 * The set's history, with the revision to create if none has the current template. Hashes in steps, because templates
 * may be large.
 */
async function historyNow(
  set: DaemonSet,
  known: History,
  site: SiteView,
): Promise<History | "stale" | { readonly live: DaemonSet }> {
  if (known.present.length > 0) return known;
  const made = await site.inTurns(newRevision(set));
  const named = await revisionNamed(set, made.hash, site);
  if (named === "free") return { ...known, made };
  return named === "stale" || "live" in named ? named : { ...known, present: [named] };
}

/**
 * Checks in the API whether the name of the revision to be created is free. It may be taken by the same revision, which
 * the cache does not show yet, or, in a collision, by a revision of another template with the same hash.
 */
async function revisionNamed(
  set: DaemonSet,
  hash: string,
  site: SiteView,
): Promise<"free" | "stale" | KnownRevision | { readonly live: DaemonSet }> {
  const { namespace } = set.metadata;
  const name = revisionName(set, hash);
  const found = await site.fetch(controllerRevisions, `${namespace}/${name}`);
  if (found === undefined) return "free";
  const taken = await site.inTurns(knownRevision(set, found));
  if (taken.isPresent) return taken;
  const live = await site.fetch(daemonSets, keyOf(set));
  const isSame = live?.metadata.uid === set.metadata.uid && live.status?.collisionCount === set.status?.collisionCount;
  return isSame && live.metadata.generation === set.metadata.generation ? { live } : "stale";
}

/** Reads one Node per step, because checking the affinity and tolerations of a large set takes time for each Node. */
function* boardsOf(
  set: DaemonSet,
  site: SiteView,
  verdicts: BoardVerdicts,
  deps: BoardVerdictDeps,
): Steps<readonly Board[]> {
  const boards: Board[] = [];
  for (const node of site.lister(nodes).list()) {
    const { name } = node.metadata;
    const silence = silenceOf(node, verdicts, { ...deps, now: site.now });
    boards.push({ name, ...eligibilityOf(set, node), ...(silence && { silence }) });
    yield;
  }
  return boards;
}

/** The silence of a board; undefined if it is not silent. Only our agent sets Ready=Unknown, never a kubelet. */
function silenceOf(
  node: Node,
  verdicts: BoardVerdicts,
  { settings, now }: BoardVerdictDeps & { readonly now: Instant },
): Silence | undefined {
  if (readyOf(node)?.status !== "Unknown") return undefined;
  const { name } = node.metadata;
  const { held } = verdicts;
  const silence =
    held === undefined ? (verdicts.verdictOn(name) ?? unjudged) : { verdict: "unknown" as const, rule: held };
  const { verdict, rule } = silence;
  const freeze = verdicts.freezeOn(name);
  const gate = {
    policy: settings.policy,
    ready: "Unknown" as const,
    ...(freeze && { frozenMs: Math.ceil(elapsed(now, freeze.end)) }),
  };
  const grounds: Grounds = { act: "pod-replaced", board: name, because: { kind: "silence", ...silence }, gate };
  const cause = { board: name, verdict, rule: `the board's pods do not serve: ${rule}` };
  return { cause, grounds, isHeld: rulingOf(grounds) !== "act" };
}

const unjudged: SilenceFacts = { verdict: "unproven", rule: "this agent judges no boards" };

/**
 * Boards that unbound pods were created for and whose Node is in neither the cache nor the API. If the API has the
 * Node, it and its pods have merely left the site (docs/judgement.md#site-scope).
 */
async function vanished(mine: readonly Pod[], site: SiteView): Promise<readonly string[]> {
  const gone: string[] = [];
  for (const board of await site.inTurns(withoutNode(mine, site))) {
    if ((await fetchReadable(site, nodes, board)) === undefined) gone.push(board);
  }
  return gone;
}

/** Boards of unbound pods that have no Node in the cache, up to `maxRequests`. */
function* withoutNode(mine: readonly Pod[], site: SiteView): Steps<readonly string[]> {
  const boards = new Set<string>();
  const missing: string[] = [];
  for (const [index, pod] of mine.entries()) {
    if (endsStep(index)) yield;
    const board = pod.spec?.nodeName ? undefined : targetOf(pod);
    if (board === undefined || boards.has(board)) continue;
    boards.add(board);
    if (site.lister(nodes).get(board) === undefined) missing.push(board);
    if (missing.length === maxRequests) break;
  }
  return missing;
}

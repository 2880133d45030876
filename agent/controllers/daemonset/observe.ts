import type { ControllerRevision, DaemonSet, Node, Pod } from "../../api/core.ts";
import { keyOf } from "../../api/meta.ts";
import { controllerRevisions, daemonSets, nodes, pods } from "../../api/resources.ts";
import { nextTurn } from "../../base/clock.ts";
import { TerminalError } from "../../base/errors.ts";
import { type Action, refTo } from "../../execution/actions.ts";
import { permitsHarm } from "../../judgement/verdict.ts";
import type { SiteView } from "../../loop/controller.ts";
import { asItIsNow } from "../as-it-is-now.ts";
import { type BoardVerdicts, type SightParts, sightOf } from "../board-verdicts.ts";
import { outstanding } from "../expectations.ts";
import { forEachConcurrently } from "../node-lifecycle/for-each-concurrently.ts";
import { readyOf } from "../node-lifecycle/health.ts";
import type { Board, Silence } from "./board.ts";
import { readClaimed } from "./claimed.ts";
import { targetOf } from "./daemon-pod.ts";
import { eligibilityOf } from "./eligibility.ts";
import { type History, historyOf, isOfTemplate, newRevision, revisionName } from "./history.ts";
import { memoryOf, type SetMemory } from "./memory.ts";
import type { SetState } from "./pass.ts";
import { selectorOf } from "./selector.ts";

/** Most requests per pass, for missing Nodes and again for overtaken pods. */
const mostQuestions = 32;
/** Affinity terms evaluated per turn of the event loop: some milliseconds. */
const mostTerms = 50_000;

export async function observe(
  key: string,
  site: SiteView,
  memory: SetMemory,
  sight: SightParts,
): Promise<SetState | undefined> {
  const set = site.lister(daemonSets).get(key);
  if (set === undefined) return undefined;
  const selector = selectorOf(set);
  if (selector === undefined) throw new TerminalError(`the selector of DaemonSet ${key} cannot be read`);
  if (selector.length === 0) return { kind: "idle", set, told: [selectsAll(set)] };
  if (set.metadata.deletionTimestamp !== undefined) return { kind: "idle", set, told: [] };
  const claimed = await readClaimed(set, selector, site);
  if (claimed === undefined) return { kind: "stale" };
  const history = await historyNow(set, claimed.revisions, site);
  if (history === "stale") return { kind: "stale" };
  if ("live" in history) return { kind: "collision", live: history.live };
  const { expected: before, overtaken } = memoryOf(memory, set.metadata.uid);
  const expected = await outstanding(before, pods, site);
  const boards = await boardsOf(set, site, sightOf(sight, site), sight);
  const { claims } = claimed;
  const mine = overtaken.size === 0 ? claimed.pods : await asTheyAreNow(claimed.pods, overtaken, site);
  return { kind: "work", set, boards, vanished: await vanished(mine, site), pods: mine, history, claims, expected };
}

async function asTheyAreNow(
  mine: readonly Pod[],
  overtaken: ReadonlySet<string>,
  site: SiteView,
): Promise<readonly Pod[]> {
  const live = new Map<string, Pod>();
  const asked = mine.filter((pod) => overtaken.has(keyOf(pod))).slice(0, mostQuestions);
  await forEachConcurrently(asked, async (pod) => void live.set(pod.metadata.uid, await asItIsNow(pod, site)));
  return mine.map((pod) => live.get(pod.metadata.uid) ?? pod);
}

const selectsAll = (set: DaemonSet): Action => ({
  do: "event",
  about: refTo(daemonSets, set),
  severity: "Warning",
  reason: "SelectingAll",
  message: "This daemon set is selecting all pods. A non-empty selector is required.",
});

/** Compares and hashes in turns of the event loop: a template may be as large as the API server admits an object. */
async function historyNow(
  set: DaemonSet,
  revisions: readonly ControllerRevision[],
  site: SiteView,
): Promise<History | "stale" | { readonly live: DaemonSet }> {
  const known = await site.inTurns(historyOf(set, revisions));
  if (known.present.length > 0) return known;
  const made = await site.inTurns(newRevision(set));
  const named = await askForName(set, made.hash, site);
  if (named === "free") return { ...known, made };
  return named === "stale" || "live" in named ? named : { ...known, present: [named.revision] };
}

/**
 * Checks the name of the revision to be created. It may be taken: by the same revision, which the cache does not show
 * yet, or by one of another template with the same hash.
 */
async function askForName(
  set: DaemonSet,
  hash: string,
  site: SiteView,
): Promise<"free" | "stale" | { readonly revision: ControllerRevision } | { readonly live: DaemonSet }> {
  const { namespace } = set.metadata;
  const name = revisionName(set, hash);
  const found = await site.fetch(controllerRevisions, `${namespace}/${name}`);
  if (found === undefined) return "free";
  if (isOfTemplate(set, found)) return { revision: found };
  const live = await site.fetch(daemonSets, keyOf(set));
  const isSame = live?.metadata.uid === set.metadata.uid && live.status?.collisionCount === set.status?.collisionCount;
  return isSame && live.metadata.generation === set.metadata.generation ? { live } : "stale";
}

/** Holds one Node at a time, and yields to the event loop when many terms meet many boards. */
async function boardsOf(
  set: DaemonSet,
  site: SiteView,
  sight: BoardVerdicts,
  parts: SightParts,
): Promise<readonly Board[]> {
  const boards: Board[] = [];
  const terms = termsOf(set);
  let tried = 0;
  for (const node of site.lister(nodes).list()) {
    const { name } = node.metadata;
    const silence = silenceOf(node, sight, parts);
    boards.push({ name, ...eligibilityOf(set, node), ...(silence && { silence }) });
    tried += terms;
    if (tried < mostTerms) continue;
    tried = 0;
    await nextTurn();
  }
  return boards;
}

function termsOf({ spec }: DaemonSet): number {
  const { affinity } = spec?.template.spec ?? {};
  return affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms?.length ?? 0;
}

/** Unknown is our own status for a board: a kubelet never reports it. */
function silenceOf(node: Node, sight: BoardVerdicts, { settings }: SightParts): Silence | undefined {
  if (readyOf(node)?.status !== "Unknown") return undefined;
  const { name } = node.metadata;
  const { verdict, rule } = sight.verdictOn(name) ?? { verdict: "unproven", rule: "nobody judges boards here" };
  const isFrozen = sight.freezeOn(name) !== undefined;
  const isHeld = sight.held !== undefined || isFrozen || !permitsHarm({ verdict, rule }, settings.policy);
  return { cause: { board: name, verdict, rule: `its pods do not serve: ${rule}` }, isHeld };
}

/**
 * Boards without a Node in the API either. A Node that only left the site took its pods along
 * (docs/judgement.md#site-scope).
 */
async function vanished(mine: readonly Pod[], site: SiteView): Promise<readonly string[]> {
  const unbound = mine.filter(({ spec }) => !spec?.nodeName);
  const missing = new Set(unbound.flatMap((pod) => targetOf(pod) ?? []));
  const gone: string[] = [];
  for (const board of [...missing]
    .filter((name) => site.lister(nodes).get(name) === undefined)
    .slice(0, mostQuestions)) {
    if ((await site.fetch(nodes, board)) === undefined) gone.push(board);
  }
  return gone;
}

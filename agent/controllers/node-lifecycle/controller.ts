import type { Node } from "../../api/core.ts";
import { boardLeaseKey, boardLeaseNamespace, leases, nodes, pods } from "../../api/resources.ts";
import type { Instant, Millis } from "../../base/clock.ts";
import { forEachConcurrently } from "../../base/concurrency/for-each-concurrently.ts";
import { endsStep, type Steps } from "../../base/steps.ts";
import { type ObjectRef, refTo } from "../../execution/actions.ts";
import { type Holds, noHolds } from "../../holds/holds.ts";
import { isQuarantineActive, type Link, linkOf } from "../../judgement/link.ts";
import { permitsHarm } from "../../judgement/verdict.ts";
import type { Controller, SiteView } from "../../loop/controller.ts";
import { openValve, type ValveNow } from "../safety-valve.ts";
import { decide, remember } from "./decide.ts";
import { type Examined, type LanAnswerOf, needsUnknownCondition, noLanAnswer, type Sighting } from "./health.ts";
import type { BoardRecord, SiteMemory } from "./memory.ts";
import type { MonitorPass, SiteState } from "./pass.ts";
import { readProofs } from "./proofs.ts";
import { memoryAfter, noRecollection, type Recollection } from "./recollection.ts";
import type { NodeLifecycleSettings } from "./settings.ts";
import { nextToMark } from "./silent-conditions.ts";
import { overlaid, slim } from "./slim.ts";
import { mayHaveTurn } from "./turn-writes.ts";
import { nextInTurn } from "./turns.ts";
import { type Budget, budgetNow } from "./zones/budget.ts";

/*
 * How a silent board comes to be marked and tainted, or why it is not. Steps 1 to 7 are a monitor pass, every
 * `monitorPeriod`; pass.ts has the table of its rounds.
 *
 * 1. Each board is read from the cache: its Node, the version of its Lease, and its answer on the LAN (`sightings` in
 *    this file).
 * 2. The silence of each board is measured on our clock, from the last change of a sign of life (health.ts). If no watch
 *    proves it, the API is asked (proofs.ts).
 * 3. From this evidence alone follows the verdict (../../judgement/verdict.ts).
 * 4. The conditions of the next silent boards are written, Ready=Unknown (`nextToMark` in silent-conditions.ts, `monitor`
 *    in decide.ts). Their taint NoSchedule follows from that (node-taints.ts). A failed write is repeated within the pass
 *    (`afterTry`, `retry`).
 * 5. Then the zones are judged, by all boards that are not ready (`taintRound` in taint-round.ts; zones/site-zones.ts).
 *    This gives each zone its rate, which may be 0.
 * 6. A board that is to be tainted joins the queue of its zone; one that is ready leaves it, and loses our taints
 *    (`taintPlan` in after-conditions.ts; `queueBoards`).
 * 7. The ready pods of boards that fell silent are marked not ready (`markPods`), those that arrive later by
 *    pod-readiness.ts.
 * 8. In this pass and in the short ones after it, a board gets its turn when its zone has a token (turns.ts). Verdict,
 *    quarantine, freezes and the safety valve may forbid that; it then keeps waiting (`mayHaveTurn` in turn-writes.ts,
 *    `rulingOf` in ../../judgement/ruling.ts), and the reason is recorded (`dueTaints` in grounds.ts).
 * 9. NoExecute is written, and its outcome decides whether the turn is used up (outcome-round.ts). The evictions follow
 *    in ../taint-eviction.
 */

export interface NodeLifecycleDeps {
  readonly settings: NodeLifecycleSettings;
  /** The previous leader's budget, read in the first pass of a term. */
  readonly inherited: () => Budget | undefined;
  /** The operators' holds at this time; by default none. */
  readonly holds?: (now: Instant) => Holds;
  /** The safety valve at this time; by default it limits nothing. */
  readonly valve?: (now: Instant) => ValveNow;
  /** The LAN answers of boards; by default there are none. */
  readonly wordOf?: LanAnswerOf;
  /** The state that this process keeps of its last term; by default none. */
  readonly recalled?: Recollection;
  /** The highest term of which a restore of the API server may have undone something; by default there is none. */
  readonly undoneUntil?: () => number | undefined;
}

/** One key for the whole site, because whether a board may be tainted depends on all other boards. */
export const siteKey = "site";

/** Maximum number of pods marked per pass, because a silent zone can have more pods than fit into memory. */
const maxPods = 500;
/** Maximum number of Nodes read in one pass because a taint could not be removed. */
const maxReread = 20;
/** Maximum number of missing boards that a pass looks up in the API, to learn whether they were deleted. */
const maxDepartures = 32;
/** Tolerance for timers that fire early. */
const early: Millis = 1;

/**
 * Judges the boards every monitor period and gives them their turns in between. Changes of Nodes and Leases enqueue
 * nothing, because only missing heartbeats matter.
 */
export const nodeLifecycle = ({
  settings,
  inherited,
  holds: held = () => noHolds,
  valve: valveAt = () => openValve,
  wordOf = noLanAnswer,
  recalled = noRecollection,
}: NodeLifecycleDeps): Controller<SiteState, SiteMemory> => ({
  name: "node-lifecycle",
  reads: [nodes, leases, pods],
  mappings: [],
  firstKeys: [siteKey],
  initialMemory: memoryAfter(recalled),
  // A pass ends in time regardless of how few requests are allowed; the next one sends the rest. A fifth of each period
  // is reserved for controllers that act on these writes, because otherwise node-taints would lag behind the
  // conditions.
  maxWait: 0.8 * settings.monitorPeriod,
  async observe(_key, site, memory) {
    if (memory.pass?.stage === "retry") return await observeRetry(site, memory.pass);
    const watches = { nodes: site.watch(nodes), leases: site.watch(leases) };
    const link = linkOf(watches, settings, site.now);
    const holds = held(site.now);
    const valve = valveAt(site.now);
    if (memory.monitorAt !== undefined && site.now.mono < memory.monitorAt.mono - early) {
      return await observeTurns(site, memory, { link, holds, valve, settings, wordOf });
    }
    const cached = await site.inTurns(sightings(site, memory, wordOf));
    const seen = await rereadUncleared(cached, site, memory, link);
    const examined = await readProofs(seen, { site, memory, link, holds, settings });
    const missing = link.live ? await departures(site, memory, examined) : new Map();
    const occupied = await site.inTurns(occupiedOf(examined.filter(needsUnknownCondition), site));
    const next = nextToMark(examined, (name) => occupied.has(name)).flatMap(
      (board) => wholeOf(board, site, memory) ?? [],
    );
    const whole = new Map(next.map(({ sighting }) => [sighting.node.metadata.name, sighting]));
    const boards = examined.map(({ sighting }) => whole.get(sighting.node.metadata.name) ?? sighting);
    return {
      kind: "monitor",
      link,
      holds,
      valve,
      boards,
      missing,
      next: next.map(({ sighting }) => sighting.node.metadata.name),
      pods: await site.inTurns(podsOfSilent(site, memory, { examined, next, settings })),
      inherited: budgetNow(inherited(), site.now),
    };
  },
  decide: (state, memory, now) => decide(state, memory, settings, now),
  decideAfterWrites: (decision, outcomes, now) => remember(decision, outcomes, settings, now),
});

/** All boards as the cache shows them: each with the version of its Lease, which is read before its Node. */
function* sightings(site: SiteView, memory: SiteMemory, wordOf: LanAnswerOf): Steps<readonly Sighting[]> {
  const versions = new Map<string, string>();
  let index = 0;
  for (const { metadata } of site.lister(leases).list()) {
    if (metadata.namespace === boardLeaseNamespace) versions.set(metadata.name, metadata.resourceVersion);
    if (endsStep(index++)) yield;
  }
  const boards: Sighting[] = [];
  for (const node of site.lister(nodes).list()) {
    const { name } = node.metadata;
    const record = memory.boards.get(name);
    const { node: newest, cached, lease } = sighting(node, versions.get(name), record);
    boards.push({ node: slim(newest, record?.health), cached, lease, lan: wordOf(name) });
    if (endsStep(boards.length)) yield;
  }
  return boards;
}

/**
 * The boards among these that have pods. Other names are not kept: pods may name any number of boards that do not
 * exist.
 */
function* occupiedOf(boards: readonly Examined[], site: SiteView): Steps<ReadonlySet<string>> {
  const occupied = new Set<string>();
  const names = new Set(boards.map(({ sighting }) => sighting.node.metadata.name));
  if (names.size === 0) return occupied;
  let index = 0;
  for (const name of site.lister(pods).indexValues("byNode")) {
    if (names.has(name)) occupied.add(name);
    if (endsStep(index++)) yield;
  }
  return occupied;
}

/**
 * The board with its whole Node instead of the slim one: writing its conditions requires the whole Node. Undefined if
 * the cached Node has changed since; the next pass then decides.
 */
function wholeOf(board: Examined, site: SiteView, memory: SiteMemory): Examined | undefined {
  const { node, cached, lease } = board.sighting;
  const found = site.lister(nodes).get(node.metadata.name);
  if (found?.metadata.resourceVersion !== cached || found.metadata.uid !== node.metadata.uid) return undefined;
  const whole = sighting(found, lease, memory.boards.get(node.metadata.name));
  // A Node that this pass read from the API is already whole.
  if (whole.node.metadata.resourceVersion !== node.metadata.resourceVersion) return board;
  return { ...board, sighting: { ...board.sighting, node: whole.node } };
}

function sighting(node: Node, lease: string | undefined, record: BoardRecord | undefined): Sighting {
  const cached = node.metadata.resourceVersion;
  const newest = record?.ahead?.of === cached && record.ahead.node.metadata.uid === node.metadata.uid;
  return { node: newest && record.ahead ? overlaid(node, record.ahead.node) : node, cached, lease };
}

async function observeRetry(site: SiteView, pass: MonitorPass): Promise<SiteState> {
  const boards: Sighting[] = [];
  if (site.now.mono >= pass.retryUntil.mono) return { kind: "retry", pass, boards };
  const open = pass.examined.filter(({ sighting: { node } }) => pass.toRetry.has(node.metadata.name));
  await forEachConcurrently(open, async ({ sighting }) => {
    const { name, uid } = sighting.node.metadata;
    const node = await site.fetch(nodes, name);
    const lease = site.lister(leases).get(boardLeaseKey(name));
    if (node?.metadata.uid === uid) boards.push({ ...sighting, node, lease: lease?.metadata.resourceVersion });
  });
  return { kind: "retry", pass, boards };
}

async function observeTurns(
  site: SiteView,
  memory: SiteMemory,
  {
    link,
    holds,
    valve,
    settings,
    wordOf,
  }: {
    readonly link: Link;
    readonly holds: Holds;
    readonly valve: ValveNow;
    readonly settings: NodeLifecycleSettings;
    readonly wordOf: LanAnswerOf;
  },
): Promise<SiteState> {
  const isInQuarantine = isQuarantineActive(memory.quarantine);
  const may = mayHaveTurn(memory.boards, { link, holds, valve, isInQuarantine, settings, now: site.now });
  const names = [...memory.zones.values()].flatMap((zone) => nextInTurn(zone, may));
  const boards: Sighting[] = [];
  const gone: string[] = [];
  for (const name of names) {
    const node = site.lister(nodes).get(name);
    const lease = site.lister(leases).get(boardLeaseKey(name));
    if (node === undefined) gone.push(name);
    else {
      const seen = sighting(node, lease?.metadata.resourceVersion, memory.boards.get(name));
      boards.push({ ...seen, lan: wordOf(name) });
    }
  }
  return { kind: "turns", link, holds, valve, boards: link.live ? await reread(boards, site, memory) : boards, gone };
}

/**
 * Reads the Nodes of repeated turns from the API: if another client writes all the time, the cached Node is already
 * outdated. Nodes that are gone or were recreated are left out.
 */
async function reread(
  boards: readonly Sighting[],
  site: SiteView,
  { zones }: SiteMemory,
): Promise<readonly Sighting[]> {
  const paid = new Map([...zones.values()].flatMap((zone) => [...zone.paid]));
  const isRepeated = ({ node: { metadata } }: Sighting): boolean =>
    paid.has(metadata.name) && paid.get(metadata.name)?.version !== metadata.resourceVersion;
  const answers = await fetchNodes(boards.filter(isRepeated), site);
  return boards.flatMap((board) => {
    const { name, uid } = board.node.metadata;
    if (!answers.has(name)) return [board];
    const node = answers.get(name);
    return node?.metadata.uid === uid ? [withFetched(board, node)] : [];
  });
}

/**
 * Reads the Nodes from which a taint could not be removed in the last pass. A watch may lag behind for longer than a kubelet
 * takes to write its status again: the write for the cached version would then always be refused, and the taint stay.
 */
async function rereadUncleared(
  boards: readonly Sighting[],
  site: SiteView,
  { uncleared }: SiteMemory,
  link: Link,
): Promise<readonly Sighting[]> {
  if (uncleared.size === 0 || !link.live) return boards;
  const open = boards.filter(({ node }) => uncleared.has(node.metadata.name)).slice(0, maxReread);
  const answers = await fetchNodes(open, site);
  return boards.map((board) => {
    const node = answers.get(board.node.metadata.name);
    return node?.metadata.uid === board.node.metadata.uid ? withFetched(board, node) : board;
  });
}

/** The Nodes of these boards in the API, by name; undefined if there is none. Those that it cannot read are left out. */
async function fetchNodes(boards: readonly Sighting[], site: SiteView): Promise<ReadonlyMap<string, Node | undefined>> {
  const answers = new Map<string, Node | undefined>();
  await forEachConcurrently(boards, async ({ node: { metadata } }) => {
    answers.set(metadata.name, await site.fetch(nodes, metadata.name));
  });
  return answers;
}

/** The board with its Node from the API; with the cached one if the labels changed, as it may have left the site. */
const withFetched = (board: Sighting, node: Node): Sighting =>
  hasSameLabels(node, board.node) ? { ...board, node } : board;

const hasSameLabels = (a: Node, b: Node): boolean =>
  JSON.stringify(a.metadata.labels ?? {}) === JSON.stringify(b.metadata.labels ?? {});

/**
 * The boards that are missing from the cache: deleted, or released because they left the site's selection. Boards
 * beyond the limit are checked in a later pass.
 */
async function departures(
  site: SiteView,
  memory: SiteMemory,
  boards: readonly Examined[],
): Promise<ReadonlyMap<string, "deleted" | "released">> {
  const present = new Set(boards.map(({ sighting: { node } }) => node.metadata.name));
  const left = [...memory.boards].filter(([name]) => !present.has(name)).slice(0, maxDepartures);
  const missing = new Map<string, "deleted" | "released">();
  await forEachConcurrently(left, async ([name, { health }]) => {
    const node = await site.fetch(nodes, name);
    missing.set(name, node?.metadata.uid === health.uid ? "released" : "deleted");
  });
  return missing;
}

/**
 * The pods to be marked not ready, by board: on boards whose pods earlier passes could not mark, and on boards that
 * fall silent in this one. Decodes no pod: a tenant's pods may be many and large, and verdicts must not wait for them.
 */
function* podsOfSilent(
  site: SiteView,
  memory: SiteMemory,
  {
    examined,
    next,
    settings: { policy },
  }: {
    readonly examined: readonly Examined[];
    readonly next: readonly Examined[];
    readonly settings: NodeLifecycleSettings;
  },
): Steps<ReadonlyMap<string, readonly ObjectRef[]>> {
  const isInQuarantine = isQuarantineActive(memory.quarantine);
  const isPending = ({ sighting, readyBefore, verdict }: Examined): boolean =>
    memory.unmarked.has(sighting.node.metadata.name) &&
    (readyBefore === "False" || (readyBefore !== "True" && !isInQuarantine && permitsHarm(verdict, policy)));
  const found = new Map<string, readonly ObjectRef[]>();
  let count = 0;
  for (const { sighting } of [
    ...examined.filter(isPending),
    ...next.filter(({ readyBefore }) => readyBefore === "True"),
  ]) {
    const { name } = sighting.node.metadata;
    if (count >= maxPods) break;
    if (found.has(name)) continue;
    const onBoard: ObjectRef[] = [];
    for (const pod of site.lister(pods).referencesByIndex("byNodeIfReady", name)) {
      onBoard.push(refTo(pods, pod));
      if (endsStep(onBoard.length)) yield;
    }
    count += onBoard.length;
    found.set(name, onBoard);
  }
  return found;
}

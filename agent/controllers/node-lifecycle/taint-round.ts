import type { Instant } from "../../base/clock.ts";
import type { Action, ObjectRef } from "../../execution/actions.ts";
import { isQuarantineActive } from "../../judgement/link.ts";
import { noPastSilences } from "../../judgement/past-silence.ts";
import { rulingOf } from "../../judgement/ruling.ts";
import type { Decision } from "../../loop/controller.ts";
import {
  type AfterConditions,
  afterConditions,
  causeOf,
  recordOf,
  type TaintPlan,
  taintPlan,
} from "./after-conditions.ts";
import { freezeOnJudged, type TaintCircumstances, taintGrounds } from "./grounds.ts";
import { silentSinceNow, withMissed } from "./health.ts";
import type { BoardRecord, SiteMemory, ZoneRecord } from "./memory.ts";
import { type MonitorPass, nodeEvent, type TaintWrite, writeTaints } from "./pass.ts";
import { markNotReady } from "./pods-not-ready.ts";
import type { NodeLifecycleSettings } from "./settings.ts";
import { roomForTaints } from "./tainted-boards.ts";
import { desiredTaintFor, runningTaint, swapTaints, withoutNoExecute } from "./taints.ts";
import { mayHaveTurn, planTurns } from "./turn-writes.ts";
import { addAll, putFirst, removeAll } from "./zones/eviction-queue.ts";
import { judgeZones } from "./zones/site-zones.ts";

/**
 * Second round of a monitor pass: judges the zones and acts on them. It runs after the conditions were written, because
 * a board whose conditions the API refused must not count in its zone. A board whose conditions are still waiting to be
 * written does count, because the eviction rate of a zone must not depend on how fast we may write.
 */
export function taintRound(
  pass: MonitorPass,
  memory: SiteMemory,
  { settings, now }: { readonly settings: NodeLifecycleSettings; readonly now: Instant },
): Decision<SiteMemory> {
  const boards = pass.examined.map((examined) => {
    const { name } = examined.sighting.node.metadata;
    const fate = { written: pass.written.get(name), tried: pass.tried.has(name) };
    return afterConditions(examined, fate, memory, { settings, now });
  });
  const { link, holds, valve, inherited } = pass;
  const known = { link, holds, valve, isInQuarantine: isQuarantineActive(memory.quarantine), settings, now };
  const { zones: judgedZones, disruption } = judgeZones(boards, memory, { settings, inherited, holds, now });
  // If a new Node arrives with a NoExecute taint, it keeps the taint only if its Ready condition justifies it. While no
  // board of the site is ready, taints are removed from Nodes that joined and from those whose removal failed before.
  const isToClear = (board: AfterConditions): boolean =>
    disruption === "silenced" ||
    (isNew(board, memory) && desiredTaintFor(board.ready) === undefined) ||
    (disruption === "all-silent" && (memory.uncleared.has(board.name) || hasJoined(board, memory)));
  const planOf = (board: AfterConditions): TaintPlan => {
    const plan = isToClear(board) ? "clear" : taintPlan(board);
    return plan === "swap" && freezeOnJudged(board, known) !== undefined ? "keep" : plan;
  };
  const plans = new Map(boards.map((board) => [board, planOf(board)]));
  const records = recordsOf(boards, pass, memory, { fresh: disruption === "resumed", settings, now });
  const queued = queueBoards(judgedZones, plans, memory, { settings, now });
  const may = mayHaveTurn(records, known);
  const byName = new Map(boards.map((board) => [board.name, board]));
  const room = roomForTaints(records, valve);
  const { zones, writes: turns } = planTurns(queued, { may, board: (name) => byName.get(name), room }, known);
  // Boards whose turn cost a token are written first, ahead of a thousand others. A taint that the first round could
  // not remove is tried again in the next pass.
  const writes = new Map(turns);
  for (const [board, plan] of plans) {
    const isDone = writes.has(board.name) || pass.taintRemovals.has(board.name);
    const write = isDone ? undefined : taintWrite(board, plan, zones.get(board.zone), known);
    if (write) writes.set(board.name, write);
  }
  const pods = markPods(boards, pass.pods, unmarked(boards, memory, settings), now);
  return {
    actions: [...nodeEvents(boards), ...[...writes.values()].map(writeTaints), ...pods.actions],
    memory: {
      ...memory,
      boards: records,
      zones,
      unmarked: pods.unmarked,
      uncleared: new Set(
        boards.flatMap((board) => (pass.taintRemovals.has(board.name) && runningTaint(board.node) ? board.name : [])),
      ),
      silences: noPastSilences,
      judgedAt: now,
      behindSince: boards.some(({ unwritten }) => unwritten) ? (memory.behindSince ?? now) : undefined,
      pass: {
        stage: "acts",
        roundEndedAt: pass.roundEndedAt,
        link: pass.link,
        holds,
        valve,
        writes,
        marks: pods.marks,
      },
    },
  };
}

const isNew = ({ name, health }: AfterConditions, { boards }: SiteMemory): boolean =>
  boards.get(name)?.health.uid !== health.uid;

/** Whether the Node appeared during this term. Nodes that the term's first pass found do not count. */
const hasJoined = (board: AfterConditions, memory: SiteMemory): boolean =>
  memory.boards.size > 0 && isNew(board, memory);

function recordsOf(
  boards: readonly AfterConditions[],
  { inherited, removedBoards, link }: MonitorPass,
  memory: SiteMemory,
  {
    fresh,
    settings,
    now,
  }: { readonly fresh: boolean; readonly settings: NodeLifecycleSettings; readonly now: Instant },
): ReadonlyMap<string, BoardRecord> {
  const records = new Map([...memory.boards].filter(([name]) => !removedBoards.has(name)));
  for (const board of boards) {
    const health = withMissed(board.health, memory.respites, { link, settings });
    const record = recordOf({ ...board, health }, memory.boards.get(board.name), inherited, now);
    const again = fresh ? { ...record.health, ...silentSinceNow(now), transition: now } : record.health;
    records.set(board.name, fresh ? { ...record, health: again } : record);
  }
  return records;
}

/**
 * Updates the queue of every zone; copies each queue at most once.
 *
 * Policy `kubernetes`: a Node that was deleted while it waited still takes a turn and a token, before all others,
 * because kube-controller-manager requeues all other boards in each pass. A recreated Node is queued at the end.
 */
function queueBoards(
  zones: ReadonlyMap<string, ZoneRecord>,
  plans: ReadonlyMap<AfterConditions, TaintPlan>,
  memory: SiteMemory,
  { settings: { policy }, now }: { readonly settings: NodeLifecycleSettings; readonly now: Instant },
): ReadonlyMap<string, ZoneRecord> {
  const changes = new Map([...zones.keys()].map((zone) => [zone, noChange()]));
  const present = new Map([...plans.keys()].map(({ name, zone }) => [name, zone]));
  for (const [name, { zone }] of memory.boards) {
    if (present.get(name) === zone) continue;
    const change = changes.get(zone);
    if (policy === "kubernetes" && !present.has(name)) change?.gone.push(name);
    else change?.leaving.push(name);
  }
  for (const [{ name, zone }, plan] of plans) {
    const keepsPlace = memory.boards.get(name)?.zone === zone && zones.get(zone)?.queue.waiting.has(name);
    if (plan === "keep" || (plan === "wait" && keepsPlace)) continue;
    changes.get(zone)?.leaving.push(name);
    if (plan === "wait") changes.get(zone)?.joining.push(name);
  }
  return new Map(
    [...zones].map(([name, zone]) => {
      const { leaving, gone, joining } = changes.get(name) ?? noChange();
      const queue = addAll(putFirst(removeAll(zone.queue, leaving), gone), joining, now);
      return [name, queue === zone.queue ? zone : { ...zone, queue }];
    }),
  );
}

const noChange = () => ({ leaving: [] as string[], gone: [] as string[], joining: [] as string[] });

/**
 * The write for a plan that needs no turn: removing taints that no longer apply, or swapping one taint for the other.
 */
function taintWrite(
  board: AfterConditions,
  plan: TaintPlan,
  zone: ZoneRecord | undefined,
  known: TaintCircumstances,
): TaintWrite | undefined {
  const { node, cached } = board;
  const base = { node, cached, turn: undefined };
  if (plan === "clear") {
    const taints = withoutNoExecute(node);
    return taints && { ...base, taints, cause: undefined, grounds: undefined };
  }
  const deserved = plan === "swap" ? desiredTaintFor(board.ready) : undefined;
  if (deserved === undefined) return undefined;
  const grounds = taintGrounds(board, zone, known, { free: "swap" });
  if (rulingOf(grounds) !== "act") return undefined;
  return { ...base, taints: swapTaints(node, deserved, known.now), cause: causeOf(board), grounds };
}

/**
 * One Event for each board that was ready and that becomes Unknown in this pass because of silence. It does not state
 * the length of the silence, so that the Events of a board that falls silent again and again are merged.
 */
const nodeEvents = (boards: readonly AfterConditions[]): readonly Action[] =>
  boards.filter(fellSilent).map(({ name, health, verdict: { verdict, rule } }) => {
    const message = `Node ${name} status is now: NodeNotReady: ${rule} (verdict ${verdict})`;
    return nodeEvent({ name, uid: health.uid }, "NodeNotReady", message);
  });

const fellSilent = ({ readyBefore, ready }: AfterConditions): boolean => readyBefore === "True" && ready !== "True";

/**
 * The boards whose pods still have to be marked. These include boards that became Unknown without this pass: in the first
 * pass all that are, because a term can end between writing Ready=Unknown and marking the pods, and later those whose write
 * was not answered. kube-controller-manager never marks the pods of either.
 */
function unmarked(
  boards: readonly AfterConditions[],
  memory: SiteMemory,
  { policy }: NodeLifecycleSettings,
): ReadonlySet<string> {
  if (policy === "kubernetes") return memory.unmarked;
  const wasReady = ({ name }: AfterConditions): boolean => memory.boards.get(name)?.ready === "True";
  const found = boards.filter((board) => board.readyBefore === "Unknown" && (isNew(board, memory) || wasReady(board)));
  return new Set([...memory.unmarked, ...found.map(({ name }) => name)]);
}

/**
 * Marks the pods of boards that fell silent as not ready; if a board reports itself not ready, its kubelet marks them.
 * Writes that fail or exceed the limit of one pass are retried in the next, as long as the board is not ready.
 */
function markPods(
  boards: readonly AfterConditions[],
  pods: ReadonlyMap<string, readonly ObjectRef[]>,
  before: ReadonlySet<string>,
  now: Instant,
): {
  readonly actions: readonly Action[];
  readonly marks: ReadonlyMap<string, string>;
  readonly unmarked: ReadonlySet<string>;
} {
  const actions: Action[] = [];
  const marks = new Map<string, string>();
  const unmarked = new Set<string>();
  for (const board of boards) {
    const pending = before.has(board.name);
    if (board.lacksConditions && pending) unmarked.add(board.name);
    if (board.lacksConditions || !(fellSilent(board) || (pending && board.readyBefore !== "True"))) continue;
    const found = pods.get(board.name);
    const permitted = board.ready === "False" || board.permitted;
    if (found === undefined || !permitted) unmarked.add(board.name);
    else {
      for (const pod of found) {
        actions.push(...markNotReady(pod, causeOf(board), now));
        marks.set(`${pod.namespace}/${pod.name}`, board.name);
      }
    }
  }
  return { actions, marks, unmarked };
}

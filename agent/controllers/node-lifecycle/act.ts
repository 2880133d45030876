import type { Pod } from "../../api/core.ts";
import { keyOf } from "../../api/meta.ts";
import type { Instant } from "../../base/clock.ts";
import type { Action } from "../../execution/actions.ts";
import { freezeOn } from "../../holds/holds.ts";
import { isHeld } from "../../judgement/link.ts";
import type { Decision } from "../../loop/controller.ts";
import { addAll, putFirst, removeAll } from "./eviction-queue.ts";
import { causeOf, type Judged, judgeBoard, recordOf, type TaintPlan, taintPlan } from "./judge.ts";
import type { BoardRecord, SiteMemory, ZoneRecord } from "./memory.ts";
import { type MonitorPass, type TaintWrite, tell, writeTaints } from "./pass.ts";
import { countsAsReady, markNotReady } from "./pods-not-ready.ts";
import type { NodeLifecycleSettings } from "./settings.ts";
import { judgeZones } from "./site-zones.ts";
import { deservedBy, runningTaint, swapped, withoutNoExecute } from "./taints.ts";
import { mayHaveTurn, planTurns } from "./turn-writes.ts";
import { zoneName } from "./zones.ts";

/**
 * Second round of a monitor pass: judges the zones and acts on them. It runs after the conditions were written, because
 * a board whose conditions the API refused must not count in its zone. A board whose conditions are still waiting to be
 * written does count: the rate of evictions in a zone must not depend on how fast we may write.
 */
export function act(
  pass: MonitorPass,
  memory: SiteMemory,
  { settings, now }: { readonly settings: NodeLifecycleSettings; readonly now: Instant },
): Decision<SiteMemory> {
  const boards = pass.examined.map((examined) => {
    const { name } = examined.sighting.node.metadata;
    const fate = { written: pass.written.get(name), tried: pass.tried.has(name) };
    return judgeBoard(examined, fate, memory, { settings, now });
  });
  const { holds, inherited } = pass;
  const { zones: judgedZones, disruption } = judgeZones(boards, memory, { settings, inherited, holds, now });
  // A new Node keeps the NoExecute taint it arrives with if its Ready condition justifies it. Without a Ready condition
  // nothing does, and the taint is removed.
  const isToClear = (board: Judged): boolean =>
    disruption === "silenced" ||
    (isNew(board, memory) && deservedBy(board.ready) === undefined) ||
    (disruption === "all-silent" && (memory.uncleared.has(board.name) || hasJoined(board, memory)));
  const isFrozen = ({ name, zone }: Judged): boolean =>
    freezeOn(holds, { board: name, zone: zoneName(zone) }, now) !== undefined;
  const planOf = (board: Judged): TaintPlan => {
    const plan = isToClear(board) ? "clear" : taintPlan(board);
    return plan === "swap" && isFrozen(board) ? "held" : plan;
  };
  const plans = new Map(boards.map((board) => [board, planOf(board)]));
  const records = recordsOf(boards, pass, memory, { fresh: disruption === "resumed", now });
  const queued = queueBoards(judgedZones, plans, memory, { settings, now });
  const held = isHeld(memory.quarantine);
  const may = mayHaveTurn(records, { link: pass.link, held, holds, now });
  const byName = new Map(boards.map((board) => [board.name, board]));
  const { zones, writes: turns } = planTurns(queued, { may, board: (name) => byName.get(name) }, now);
  // A paid turn must not wait behind a thousand other writes. A board in `back` whose taint could not be removed is
  // retried in the next pass.
  const writes = new Map(turns);
  for (const [board, plan] of plans) {
    const isDone = writes.has(board.name) || pass.back.has(board.name);
    const write = isDone ? undefined : taintWrite(board, plan, now);
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
        boards.flatMap((board) => (pass.back.has(board.name) && runningTaint(board.node) ? board.name : [])),
      ),
      judgedAt: now,
      behindSince: boards.some(({ unwritten }) => unwritten) ? (memory.behindSince ?? now) : undefined,
      pass: { stage: "acts", since: pass.at, link: pass.link, holds, writes, marks: pods.marks },
    },
  };
}

const isNew = ({ name, health }: Judged, { boards }: SiteMemory): boolean =>
  boards.get(name)?.health.uid !== health.uid;

/** New during this term; Nodes found by the first pass of a term do not count. */
const hasJoined = (board: Judged, memory: SiteMemory): boolean => memory.boards.size > 0 && isNew(board, memory);

function recordsOf(
  boards: readonly Judged[],
  { inherited, forgotten }: MonitorPass,
  memory: SiteMemory,
  { fresh, now }: { readonly fresh: boolean; readonly now: Instant },
): ReadonlyMap<string, BoardRecord> {
  const records = new Map([...memory.boards].filter(([name]) => !forgotten.has(name)));
  for (const board of boards) {
    const record = recordOf(board, memory.boards.get(board.name), inherited, now);
    const health = fresh ? { ...record.health, probe: now, transition: now } : record.health;
    records.set(board.name, fresh ? { ...record, health } : record);
  }
  return records;
}

/**
 * Updates the queue of every zone; copies each queue at most once.
 *
 * Policy `kubernetes`: a Node deleted while it waited still takes its turn and a token, before all others, because
 * kube-controller-manager queues every other board anew in each pass. If it is created again after that pass it is
 * queued at the end.
 */
function queueBoards(
  zones: ReadonlyMap<string, ZoneRecord>,
  plans: ReadonlyMap<Judged, TaintPlan>,
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
    if (plan === "held" || (plan === "wait" && keepsPlace)) continue;
    changes.get(zone)?.leaving.push(name);
    if (plan === "wait") changes.get(zone)?.coming.push(name);
  }
  return new Map(
    [...zones].map(([name, zone]) => {
      const { leaving, gone, coming } = changes.get(name) ?? noChange();
      const queue = addAll(putFirst(removeAll(zone.queue, leaving), gone), coming, now);
      return [name, queue === zone.queue ? zone : { ...zone, queue }];
    }),
  );
}

const noChange = () => ({ leaving: [] as string[], gone: [] as string[], coming: [] as string[] });

/**
 * Writes that need no turn: removing a taint that no longer applies, and swapping one NoExecute taint for the other.
 */
function taintWrite(board: Judged, plan: TaintPlan, now: Instant): TaintWrite | undefined {
  const { node, cached } = board;
  const base = { node, cached, turn: undefined };
  if (plan === "clear") {
    const taints = withoutNoExecute(node);
    return taints && { ...base, taints, cause: undefined };
  }
  const deserved = plan === "swap" ? deservedBy(board.ready) : undefined;
  return deserved && { ...base, taints: swapped(node, deserved, now), cause: causeOf(board) };
}

/** Emits the event once, when silence turns a ready board Unknown. */
const nodeEvents = (boards: readonly Judged[]): readonly Action[] =>
  boards
    .filter(fellSilent)
    .map(({ name, health }) =>
      tell({ name, uid: health.uid }, "NodeNotReady", `Node ${name} status is now: NodeNotReady`),
    );

const fellSilent = ({ observed, ready }: Judged): boolean => observed === "True" && ready !== "True";

/**
 * Adds boards whose pods may still be in service: a term can end after Ready=Unknown was written and before the pods
 * were marked. kube-controller-manager then never marks them.
 */
function unmarked(
  boards: readonly Judged[],
  memory: SiteMemory,
  { policy }: NodeLifecycleSettings,
): ReadonlySet<string> {
  if (policy === "kubernetes") return memory.unmarked;
  const found = boards.filter((board) => board.observed === "Unknown" && isNew(board, memory));
  return new Set([...memory.unmarked, ...found.map(({ name }) => name)]);
}

/**
 * Marks the pods of boards that fell silent not ready; a board that reports itself not ready marks its own pods. Writes
 * that fail or exceed the limit of one pass are retried in the next, as long as the board is not ready.
 */
function markPods(
  boards: readonly Judged[],
  pods: ReadonlyMap<string, readonly Pod[]>,
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
    if (board.unsettled && pending) unmarked.add(board.name);
    if (board.unsettled || !(fellSilent(board) || (pending && board.observed !== "True"))) continue;
    const found = pods.get(board.name);
    const permitted = board.ready === "False" || board.permitted;
    if (found === undefined || !permitted) unmarked.add(board.name);
    else {
      for (const pod of found.filter(countsAsReady)) {
        actions.push(...markNotReady(pod, causeOf(board), now));
        marks.set(keyOf(pod), board.name);
      }
    }
  }
  return { actions, marks, unmarked };
}

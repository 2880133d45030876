import { withCondition } from "../../api/conditions.ts";
import type { Node, NodeCondition } from "../../api/core.ts";
import { timestamp } from "../../api/timestamps.ts";
import { earlierOf, type Instant, laterOf, type Millis, shifted } from "../../base/clock.ts";
import { dispositionOf } from "../../base/errors.ts";
import { isPostponed } from "../../base/postponed.ts";
import { type Action, type Outcome, OutdatedError } from "../../execution/actions.ts";
import { isQuarantineActive, type Link, nextQuarantine, type Quarantine } from "../../judgement/link.ts";
import { nextRespites, respiteSince } from "../../judgement/respites.ts";
import { isSilent, permitsHarm } from "../../judgement/verdict.ts";
import type { Decision } from "../../loop/controller.ts";
import { markGrounds } from "./grounds.ts";
import { type Examined, examine, needsUnknownCondition } from "./health.ts";
import type { SiteMemory } from "./memory.ts";
import { confirmedDeadBy } from "./out-of-service/mark.ts";
import { endOf, outcomeRound } from "./outcome-round.ts";
import {
  type MonitorPass,
  type MonitorState,
  nodeEvent,
  type RetryState,
  type SiteState,
  type TurnsState,
  writeTaints,
} from "./pass.ts";
import { taintRemovals, withTaintsRemoved } from "./returned-boards.ts";
import type { NodeLifecycleSettings } from "./settings.ts";
import { silentConditions, writeConditions } from "./silent-conditions.ts";
import { taintRound } from "./taint-round.ts";
import { roomForTaints } from "./tainted-boards.ts";
import { mayHaveTurn, planTurns, type TurnCandidate } from "./turn-writes.ts";

/**
 * Decides about all boards of the site. A monitor pass has three rounds. The first removes the taints of boards that
 * are back and writes the conditions of silent boards, as many as the pass has time for, with a few retries. The second
 * judges the zones and acts on them. The third records the results. Between monitor passes, each waiting board gets its
 * NoExecute taint as soon as its zone's bucket has a token.
 */
export function decide(
  state: SiteState,
  memory: SiteMemory,
  settings: NodeLifecycleSettings,
  now: Instant,
): Decision<SiteMemory> {
  switch (state.kind) {
    case "monitor":
      return monitor(state, memory, settings, now);
    case "retry":
      return retry(state, memory, settings, now);
    case "turns":
      return decideTurns(state, memory, settings, now);
    default:
      return state satisfies never;
  }
}

/**
 * Number of times a pass tries to write the conditions of a board, and the pause between the tries, as in
 * kube-controller-manager.
 */
const maxTries = 5;
const pause: Millis = 20;

/** Derives the next round from the outcomes of the last one. Pure, as `decide` is. */
export function remember(
  decision: Decision<SiteMemory>,
  outcomes: readonly Outcome[],
  settings: NodeLifecycleSettings,
  now: Instant,
): Decision<SiteMemory> {
  const { memory } = decision;
  const { pass } = memory;
  if (pass === undefined) return decision;
  if (pass.stage === "acts") return outcomeRound(pass, outcomes, memory, { settings, now });
  const after = afterTry(pass, outcomes, now);
  if (after.stage === "retry") return { actions: [], memory: { ...memory, pass: after }, requeueAfter: pause };
  return orNextRound(taintRound(after, memory, { settings, now }), settings, now);
}

/** The pass after an attempt to write conditions. Boards whose writes failed are retried, or skipped for this pass. */
function afterTry(pass: MonitorPass, outcomes: readonly Outcome[], now: Instant): MonitorPass {
  const { taintRemovals: back } = pass;
  const conditions = outcomes.filter(({ action }) => action.do === "patch" && !back.has(action.target.name));
  const examined = withTaintsRemoved(pass.examined, back, outcomes);
  const written = new Map([...pass.written, ...writtenNodes(examined, conditions, now)]);
  const tried = new Set(pass.tried);
  const failed = new Set<string>();
  for (const outcome of conditions) {
    if (outcome.action.do !== "patch" || (!outcome.ok && isUnsent(outcome.error))) continue;
    const { name } = outcome.action.target;
    tried.add(name);
    if (!outcome.ok && dispositionOf(outcome.error) !== "drop") failed.add(name);
  }
  const stage = failed.size > 0 && pass.tries < maxTries ? "retry" : "conditions";
  return { ...pass, roundEndedAt: endOf(outcomes, now), stage, examined, written, tried, toRetry: failed };
}

/** The condition was not sent, because time ran out or an outage began; a later pass judges the board again. */
const isUnsent = (error: Error): boolean => isPostponed(error) || error instanceof OutdatedError;

/** Returns the decision; if it has no actions, the next round follows immediately. */
const orNextRound = (
  decision: Decision<SiteMemory>,
  settings: NodeLifecycleSettings,
  now: Instant,
): Decision<SiteMemory> => (decision.actions.length > 0 ? decision : remember(decision, [], settings, now));

function monitor(
  state: MonitorState,
  memory: SiteMemory,
  settings: NodeLifecycleSettings,
  now: Instant,
): Decision<SiteMemory> {
  const { link, holds, valve, pods, inherited } = state;
  const { silences } = memory;
  const examined = state.boards.map((sighting) =>
    examine(memory.boards.get(sighting.node.metadata.name)?.health, sighting, {
      link,
      holds,
      settings,
      now,
      silences,
      earlier: inherited?.silences,
    }),
  );
  const judgesSince = memory.judgesSince ?? now;
  const since = respiteSince(link, judgesSince);
  const back = taintRemovals(examined);
  const found = new Map(examined.map((board) => [board.sighting.node.metadata.name, board]));
  const writes = writesOf(
    state.next.flatMap((name) => found.get(name) ?? []),
    now,
  );
  const next: SiteMemory = {
    ...memory,
    judgesSince,
    respites: nextRespites(
      memory.respites,
      { since, live: link.live, heardAt: lastHeard(examined, since, link.lastBeat) },
      now,
    ),
    quarantine: quarantineAfter(memory, { link, allReported: haveReported(examined, link.restoredAt) }, settings, now),
    monitorAt: shifted(now, settings.monitorPeriod),
    foreign: inherited?.foreign ?? memory.foreign,
    pass: {
      stage: "conditions",
      link,
      holds,
      valve,
      examined,
      pods,
      inherited,
      removedBoards: new Set(state.missing.keys()),
      taintRemovals: back,
      written: new Map(),
      toRetry: new Set(),
      tried: new Set(),
      tries: 1,
      roundEndedAt: now,
      retryUntil: shifted(now, settings.monitorPeriod),
    },
  };
  return orNextRound(
    { actions: [...nodeEvents(state, memory), ...[...back.values()].map(writeTaints), ...writes], memory: next },
    settings,
    now,
  );
}

/**
 * Retries with Nodes read from the API, because another client changed them, perhaps the board itself. Boards that are
 * gone are left out.
 */
function retry(
  { pass, boards }: RetryState,
  memory: SiteMemory,
  settings: NodeLifecycleSettings,
  now: Instant,
): Decision<SiteMemory> {
  const { link, holds } = pass;
  const again = new Map(
    boards.map((sighting) => {
      const { name } = sighting.node.metadata;
      const board = examine(memory.boards.get(name)?.health, sighting, { link, holds, settings, now });
      return [name, board] as const;
    }),
  );
  const examined = pass.examined.map((board) => again.get(board.sighting.node.metadata.name) ?? board);
  const next: MonitorPass = { ...pass, stage: "conditions", examined, toRetry: new Set(), tries: pass.tries + 1 };
  return orNextRound({ actions: writesOf([...again.values()], now), memory: { ...memory, pass: next } }, settings, now);
}

function writesOf(examined: readonly Examined[], now: Instant): readonly Action[] {
  const time = timestamp(now);
  return examined
    .filter(needsUnknownCondition)
    .map((board) =>
      writeConditions(board.sighting.node, silentConditions(board.sighting.node, time), markGrounds(board)),
    );
}

const quarantineAfter = (
  { quarantine }: SiteMemory,
  seen: { readonly link: Link; readonly allReported: boolean },
  { gracePeriod }: NodeLifecycleSettings,
  now: Instant,
): Quarantine => nextQuarantine(quarantine, { ...seen, gracePeriod }, now);

/**
 * Whether every board has shown a sign of life since the outage ended. Boards whose silence is already proven, because
 * they missed earlier respites, are not waited for.
 */
const haveReported = (boards: readonly Examined[], since: Instant | undefined): boolean =>
  since !== undefined && boards.every((board) => hasReported(board, since) || hasMissed(board));

const hasMissed = ({ evidence: { missedMs }, verdict }: Examined): boolean =>
  missedMs !== undefined && isSilent(verdict);

const hasReported = ({ health: { reportedAt } }: Examined, since: Instant): boolean =>
  reportedAt !== undefined && reportedAt.mono >= since.mono;

/**
 * When the last heartbeat arrived; undefined if that is not known, or if fewer than half of the boards that do not
 * count as lost have shown a sign of life since `since`.
 */
function lastHeard(boards: readonly Examined[], since: Instant, lastBeat: Instant | undefined): Instant | undefined {
  const present = boards.filter(({ readyBefore }) => readyBefore !== "Unknown");
  const reported = present.filter((board) => hasReported(board, since));
  if (reported.length === 0 || 2 * reported.length < present.length) return undefined;
  const last = reported.map(({ health }) => health.reportedAt).reduce(laterOf, undefined);
  // A pass sees a heartbeat some seconds after it arrived.
  return lastBeat && earlierOf(lastBeat, last);
}

/**
 * Events about new and deleted Nodes. A Node that only left the site's selection gets none: it belongs to another site.
 */
function nodeEvents(state: MonitorState, memory: SiteMemory): readonly Action[] {
  const came = state.boards
    .map(({ node: { metadata } }) => metadata)
    .filter(({ name, uid }) => memory.boards.get(name)?.health.uid !== uid)
    .map(({ name, uid }) =>
      nodeEvent({ name, uid }, "RegisteredNode", `Node ${name} event: Registered Node ${name} in Controller`),
    );
  const went = [...state.missing]
    .filter(([, fate]) => fate === "deleted")
    .map(([name]) => {
      const uid = memory.boards.get(name)?.health.uid ?? "";
      return nodeEvent({ name, uid }, "RemovingNode", `Node ${name} event: Removing Node ${name} from Controller`);
    });
  return [...came, ...went];
}

/** The new versions of the Nodes whose conditions were written, by board. */
function writtenNodes(
  examined: readonly Examined[],
  outcomes: readonly Outcome[],
  now: Instant,
): ReadonlyMap<string, Node> {
  const versions = new Map<string, string | undefined>();
  for (const outcome of outcomes) {
    if (!outcome.ok || outcome.action.do !== "patch") continue;
    const { name, resourceVersion } = outcome.action.target;
    versions.set(name, outcome.object?.metadata.resourceVersion ?? resourceVersion);
  }
  const written = new Map<string, Node>();
  const time = timestamp(now);
  for (const { sighting } of examined) {
    const { node } = sighting;
    const version = versions.get(node.metadata.name);
    if (version === undefined) continue;
    written.set(node.metadata.name, withConditions(node, silentConditions(node, time), version));
  }
  return written;
}

function withConditions(node: Node, conditions: readonly NodeCondition[], resourceVersion: string): Node {
  const all = conditions.reduce<readonly NodeCondition[]>(withCondition, node.status?.conditions ?? []);
  return { ...node, metadata: { ...node.metadata, resourceVersion }, status: { ...node.status, conditions: all } };
}

/**
 * Taints the boards whose turn it is. Examines each again, because it may have reported since the last monitor pass.
 */
function decideTurns(
  { link, holds, valve, boards, gone }: TurnsState,
  memory: SiteMemory,
  settings: NodeLifecycleSettings,
  now: Instant,
): Decision<SiteMemory> {
  const quarantine = quarantineAfter(memory, { link, allReported: false }, settings, now);
  const records = new Map(memory.boards);
  const candidates = new Map<string, TurnCandidate>();
  for (const sighting of boards) {
    const { node, cached } = sighting;
    const { name } = node.metadata;
    const record = records.get(name);
    // The turn belongs to a deleted Node. If it was recreated, the next monitor pass examines it.
    if (record === undefined) continue;
    const {
      readyBefore: ready,
      evidence,
      verdict,
      health,
    } = examine(record.health, sighting, { link, holds, settings, now });
    const confirmedBy = confirmedDeadBy(node, sighting.lease);
    candidates.set(name, { name, node, cached, zone: record.zone, ready, evidence, verdict, health, confirmedBy });
    if (ready === "Unknown" && !permitsHarm(verdict, settings.policy)) {
      records.set(name, { ...record, mayTaint: false });
    }
  }
  const known = { link, holds, valve, isInQuarantine: isQuarantineActive(quarantine), settings, now };
  const mayNow = mayHaveTurn(records, known);
  const may = (name: string): boolean =>
    mayNow(name) && (candidates.has(name) || gone.includes(name) || !records.has(name));
  const { zones, writes } = planTurns(
    memory.zones,
    { may, board: (name) => candidates.get(name), room: roomForTaints(records, valve) },
    known,
  );
  const pass = { stage: "acts", roundEndedAt: now, link, holds, valve, writes, marks: new Map() } as const;
  const actions = [...writes.values()].map(writeTaints);
  return orNextRound({ actions, memory: { ...memory, boards: records, zones, quarantine, pass } }, settings, now);
}

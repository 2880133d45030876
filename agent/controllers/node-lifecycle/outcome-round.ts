import { elapsed, type Instant, laterOf, shifted } from "../../base/clock.ts";
import { dispositionOf } from "../../base/errors.ts";
import { isPostponed } from "../../base/postponed.ts";
import type { Outcome } from "../../execution/actions.ts";
import { isQuarantineActive } from "../../judgement/link.ts";
import type { Decision } from "../../loop/controller.ts";
import { taintRecord } from "./after-conditions.ts";
import { dueTaints } from "./grounds.ts";
import { type BoardRecord, type SiteMemory, withEviction, type ZoneRecord } from "./memory.ts";
import type { ActedPass, TaintWrite } from "./pass.ts";
import { withSpecTaints } from "./returned-boards.ts";
import type { NodeLifecycleSettings } from "./settings.ts";
import { runningTaint } from "./taints.ts";
import { mayHaveTurn } from "./turn-writes.ts";
import { nextPassAt, spentAt, withPaidTurn, withTurnEnded, withTurnFailed } from "./turns.ts";

/** Number of monitor periods for which a turn stays paid (see `PaidTurn`), counted from its first conflict. */
const paidPeriods = 3;

/** The last round of a pass: records the outcomes of the writes and sets the time of the next pass. */
export function outcomeRound(
  pass: ActedPass,
  outcomes: readonly Outcome[],
  memory: SiteMemory,
  { settings, now }: { readonly settings: NodeLifecycleSettings; readonly now: Instant },
): Decision<SiteMemory> {
  const boards = new Map(memory.boards);
  const zones = new Map(memory.zones);
  const unmarked = new Set(memory.unmarked);
  const uncleared = new Set(memory.uncleared);
  for (const outcome of outcomes) {
    if (outcome.action.do !== "patch") continue;
    const { name, namespace, resource } = outcome.action.target;
    const marked = resource.kind === "Pod" ? pass.marks.get(`${namespace}/${name}`) : undefined;
    if (marked !== undefined && !outcome.ok) unmarked.add(marked);
    const write = resource.kind === "Node" ? pass.writes.get(name) : undefined;
    if (write === undefined) continue;
    const record = boards.get(name);
    if (record && outcome.ok) {
      boards.set(name, withTaints(record, write, outcome.object?.metadata.resourceVersion, outcome.at ?? now));
    }
    if (!outcome.ok && clears(write)) uncleared.add(name);
    const zone = zones.get(write.turn ?? "");
    if (zone && write.turn !== undefined) zones.set(write.turn, afterTurn(zone, write, outcome, { settings, now }));
  }
  const end = endOf(outcomes, pass.roundEndedAt);
  return withPassEnded({ ...memory, boards, zones, unmarked, uncleared, pass: undefined }, pass, settings, end);
}

/** When the last outcome arrived. */
export const endOf = (outcomes: readonly Outcome[], now: Instant): Instant =>
  outcomes.reduce((last, { at }) => laterOf(last, at), now);

/** Ends the pass. The next one is due at the next monitor pass or turn, whichever comes first. */
function withPassEnded(
  memory: SiteMemory,
  { link, holds, valve }: ActedPass,
  settings: NodeLifecycleSettings,
  now: Instant,
): Decision<SiteMemory> {
  const known = { link, holds, valve, isInQuarantine: isQuarantineActive(memory.quarantine), settings, now };
  const may = mayHaveTurn(memory.boards, known);
  const dueAt = [memory.monitorAt, ...[...memory.zones.values()].map((zone) => nextPassAt(zone, may, now))];
  const requeueAfter = Math.min(...dueAt.filter((at) => at !== undefined).map((at) => elapsed(now, at)));
  const due = dueTaints(memory, known);
  return { actions: [], memory, requeueAfter: Math.max(0, requeueAfter), due };
}

function afterTurn(
  before: ZoneRecord,
  { node }: TaintWrite,
  outcome: Outcome,
  { settings, now }: { readonly settings: NodeLifecycleSettings; readonly now: Instant },
): ZoneRecord {
  const { name, resourceVersion } = node.metadata;
  const at = outcome.at ?? now;
  const zone = spentAt(before, at);
  if (outcome.ok) return { ...withTurnEnded(zone, name), evictions: withEviction(zone.evictions, now) };
  if (isPostponed(outcome.error) || dispositionOf(outcome.error) !== "refresh") return withTurnFailed(zone, name, now);
  const until = shifted(at, paidPeriods * settings.monitorPeriod);
  return withPaidTurn(zone, name, { version: resourceVersion, until });
}

/**
 * The record after a taint write. The taint runs from `at`, when its write ended, not from the pass that decided on it,
 * because otherwise the next leader would shorten toleration times by the duration of a slow write.
 */
function withTaints(
  record: BoardRecord,
  { node, cached, taints }: TaintWrite,
  version: string | undefined,
  at: Instant,
): BoardRecord {
  const written = withSpecTaints(node, taints, version ?? node.metadata.resourceVersion);
  const taint = taintRecord(written, record.taint, record.health.returnedAt, at);
  return { ...record, taint, ahead: version === undefined ? record.ahead : { of: cached, node: written } };
}

const clears = ({ node, taints }: TaintWrite): boolean => runningTaint({ ...node, spec: { taints } }) === undefined;

import { nodes } from "../../api/resources.ts";
import { elapsed, type Instant } from "../../base/clock.ts";
import type { DueAct } from "../../decisions/decision-record.ts";
import type { GateFacts, Grounds, Restraint, SilenceFacts } from "../../decisions/grounds.ts";
import { type Freeze, freezeOn, type Holds } from "../../holds/holds.ts";
import type { Link } from "../../judgement/link.ts";
import { type HarmConditions, type Ruling, rulingOf, silenceFacts } from "../../judgement/ruling.ts";
import type { Evidence } from "../../judgement/verdict.ts";
import { freezeRestraint } from "../restraints.ts";
import { type ValveNow, type ValveRestraint, valveFact } from "../safety-valve.ts";
import type { AfterConditions } from "./after-conditions.ts";
import { type Examined, readyFact } from "./health.ts";
import type { BoardRecord, SiteMemory, ZoneRecord } from "./memory.ts";
import type { NodeLifecycleSettings } from "./settings.ts";
import { restraintOfValve } from "./tainted-boards.ts";
import { desiredTaintFor } from "./taints.ts";
import { zoneName } from "./zones/zones.ts";

/** The circumstances on which a taint depends, besides its board and zone. */
export interface TaintCircumstances {
  readonly link: Link;
  readonly holds: Holds;
  readonly valve: ValveNow;
  readonly isInQuarantine: boolean;
  readonly settings: NodeLifecycleSettings;
  readonly now: Instant;
}

/** The facts about a board that an act on it rests on. Without evidence the board is not silent. */
type JudgedFacts = Pick<AfterConditions, "name" | "zone" | "health" | "verdict" | "ready" | "confirmedBy"> & {
  readonly evidence: Evidence | undefined;
};

/** The grounds for writing Ready=Unknown. */
export const markGrounds = (board: Examined): Grounds => ({
  act: "board-marked",
  board: board.sighting.node.metadata.name,
  because: { kind: "silence", ...silenceOf(board) },
  gate: readyFact(board.readyBefore),
});

/**
 * How a board gets its taint: by its turn, with the tokens (`level`) in the bucket at that time, or without a token
 * (`free`). `valve`: set if the safety valve does not permit another board to be tainted.
 */
export type TurnFacts = Pick<GateFacts, "level" | "free" | "valve">;

/** The grounds for a NoExecute taint: our verdict if the board is Unknown, else the report of its kubelet. */
export function taintGrounds(
  board: JudgedFacts,
  zone: ZoneRecord | undefined,
  known: TaintCircumstances,
  turn: TurnFacts = {},
): Grounds {
  const { name, ready } = board;
  const freeze = freezeOnJudged(board, known);
  const gate: GateFacts = {
    ...readyFact(ready),
    ...harmConditionsOf(known),
    ...(freeze && { frozenMs: freezeLeftMs(freeze, known.now) }),
    ...(zone && { rate: zone.queue.rate }),
    ...valveFact(known.valve.shut?.restraint),
    ...confirmedFact(board),
    ...turn,
  };
  if (ready !== "Unknown") return { act: "board-tainted", board: name, because: { kind: "reported" }, gate };
  const where = zone && { zone: { name: zoneName(board.zone), state: stateOf(zone) } };
  return { act: "board-tainted", board: name, because: { kind: "silence", ...silenceOf(board), ...where }, gate };
}

export const harmConditionsOf = ({
  link,
  settings: { policy },
  isInQuarantine,
}: Omit<TaintCircumstances, "holds" | "valve">): HarmConditions => ({
  policy,
  ...(!link.live && { notLive: true }),
  ...(isInQuarantine && { quarantine: true }),
});

/** The fact that an operator confirmed the board dead; empty if none did. */
export const confirmedFact = ({ confirmedBy }: Pick<JudgedFacts, "confirmedBy">): Pick<GateFacts, "confirmed"> =>
  confirmedBy === undefined ? {} : { confirmed: "silent" };

/** The freeze that covers a board; undefined if none does. */
export const freezeOnJudged = (
  { name, zone }: Pick<JudgedFacts, "name" | "zone">,
  { holds, now }: Pick<TaintCircumstances, "holds" | "now">,
): Freeze | undefined => freezeOn(holds, { board: name, zone: zoneName(zone) }, now);

export const freezeLeftMs = ({ end }: Freeze, now: Instant): number => Math.ceil(elapsed(now, end));

const silenceOf = ({
  health,
  verdict,
  evidence,
}: Pick<JudgedFacts, "health" | "verdict" | "evidence">): SilenceFacts => ({
  ...silenceFacts(verdict, evidence),
  ...(health.reportedAt === undefined && { unheard: true }),
});

/** The NoExecute taints that are due but not written: held back, or waiting for their board's turn. */
export function dueTaints({ boards, zones }: SiteMemory, known: TaintCircumstances): readonly DueAct[] {
  const shut = restraintOfValve(boards, known.valve);
  const held: DueAct[] = [];
  const waiting: DueAct[] = [];
  for (const [name, record] of boards) {
    if (record.taint || record.unwritten || desiredTaintFor(record.ready) === undefined) continue;
    const zone = zones.get(record.zone);
    const isQueued = zone?.queue.waiting.has(name) === true;
    // Thousands of boards may be held, such as in a dark zone.
    if (held.length === maxDue && (waiting.length === maxDue || !isQueued || zone?.queue.rate === 0)) continue;
    const board = { name, ...record };
    const grounds = taintGrounds(board, zone, known, valveFact(shut));
    const restraint = restraintOf(rulingOf(grounds), board, zone, { ...known, shut });
    const list = restraint ? held : waiting;
    if (list.length === maxDue || (restraint === undefined && !isQueued)) continue;
    const on = { kind: nodes.kind, name, uid: record.health.uid };
    list.push({ on, grounds, restraint });
  }
  return [...held, ...waiting];
}

/** The state of a zone, in words. */
const stateOf = ({ state, heldMs }: ZoneRecord): string =>
  heldMs === undefined ? state : `${state}, lost together, held for judgement.zoneHold`;

/** Maximum number of held boards, and of waiting ones; any others are neither recorded nor counted as held. */
const maxDue = 100;

/** The ruling on a taint as a restraint with its details; undefined if the taint is not held back. */
function restraintOf(
  ruling: Ruling,
  board: Pick<BoardRecord, "zone" | "verdict"> & { readonly name: string },
  zone: ZoneRecord | undefined,
  known: TaintCircumstances & { readonly shut: ValveRestraint | undefined },
): Restraint | undefined {
  switch (ruling) {
    case "freeze": {
      const freeze = freezeOnJudged(board, known);
      return freeze && freezeRestraint(freeze, known.now);
    }
    case "verdict":
      return { why: ruling, ...board.verdict };
    case "valve":
      return known.shut;
    case "zone":
      return zone && { why: ruling, zone: zoneName(board.zone), state: stateOf(zone) };
    case "not-live":
    case "quarantine":
      return { why: ruling };
    default:
      return undefined;
  }
}

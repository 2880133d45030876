import { nodes } from "../../api/resources.ts";
import { elapsed, type Instant } from "../../base/clock.ts";
import type { DueAct } from "../../decisions/decision-record.ts";
import type { Grounds, Restraint, SilenceFacts } from "../../decisions/grounds.ts";
import { freezeOn, type Holds } from "../../holds/holds.ts";
import { isHeld, type Link, later } from "../../judgement/link.ts";
import { permitsHarm } from "../../judgement/verdict.ts";
import { frozen } from "../restraints.ts";
import { graceOf, type NodeHealth } from "./health.ts";
import type { Judged } from "./judge.ts";
import type { BoardRecord, SiteMemory, ZoneRecord } from "./memory.ts";
import type { NodeLifecycleSettings } from "./settings.ts";
import { deservedBy } from "./taints.ts";
import { zoneName } from "./zones/zones.ts";

/** The facts known when an act on a board was decided, besides the board itself. */
export interface Known {
  readonly link: Link;
  readonly settings: NodeLifecycleSettings;
  readonly now: Instant;
}

/** The facts about a board that an act on it rests on. */
type JudgedFacts = Pick<Judged, "name" | "zone" | "health" | "verdict" | "ready">;

/** The grounds for writing Ready=Unknown. */
export const markGrounds = (board: Pick<JudgedFacts, "name" | "health" | "verdict">, known: Known): Grounds => ({
  act: "board-marked",
  board: board.name,
  because: { kind: "silence", ...silenceOf(board, known) },
});

/** The grounds for a NoExecute taint: our verdict if the board is Unknown, else the report of its kubelet. */
export function taintGrounds(board: JudgedFacts, zone: ZoneRecord | undefined, known: Known): Grounds {
  const { name, ready } = board;
  if (ready !== "Unknown") return { act: "board-tainted", board: name, because: { kind: "reported" } };
  const where = zone && { zone: { name: zoneName(board.zone), state: zone.state } };
  return { act: "board-tainted", board: name, because: { kind: "silence", ...silenceOf(board, known), ...where } };
}

function silenceOf(
  { health, verdict: { verdict, rule } }: Pick<JudgedFacts, "health" | "verdict">,
  { link, settings, now }: Known,
): SilenceFacts {
  const proof = later(proofOf(health, link), health.answered?.at);
  return {
    verdict,
    rule,
    silentMs: ms(health.probe, now),
    ...(health.reportedAt === undefined && { unheard: true }),
    graceMs: graceOf(health.ready !== undefined, settings),
    ...(proof && { provenMs: ms(proof, now) }),
  };
}

/** The NoExecute taints that are due but not written: held back, or waiting for their board's turn. */
export function dueTaints(
  { boards, zones, quarantine }: SiteMemory,
  { holds, ...known }: Known & { readonly holds: Holds },
): readonly DueAct[] {
  const held: DueAct[] = [];
  const waiting: DueAct[] = [];
  for (const [name, record] of boards) {
    if (record.taint || record.unwritten || deservedBy(record.ready) === undefined) continue;
    const zone = zones.get(record.zone);
    const restraint = restraintOn(name, record, zone, { ...known, holds, isInQuarantine: isHeld(quarantine) });
    const list = restraint ? held : waiting;
    if (list.length === mostDue || (restraint === undefined && !zone?.queue.waiting.has(name))) continue;
    const on = { kind: nodes.kind, name, uid: record.health.uid };
    list.push({ on, grounds: taintGrounds({ name, ...record }, zone, known), restraint });
  }
  return [...held, ...waiting];
}

/**
 * Maximum number of boards that are held, and of those that wait; further ones are neither recorded nor counted as held.
 */
const mostDue = 100;

function restraintOn(
  board: string,
  { zone: key, ready, verdict }: BoardRecord,
  zone: ZoneRecord | undefined,
  { link, settings, holds, isInQuarantine, now }: Known & { readonly holds: Holds; readonly isInQuarantine: boolean },
): Restraint | undefined {
  const name = zoneName(key);
  const freeze = freezeOn(holds, { board, zone: name }, now);
  if (freeze) return frozen(freeze, now);
  if (ready === "Unknown") {
    if (!link.live) return { why: "not-live" };
    if (isInQuarantine) return { why: "quarantine" };
    if (!permitsHarm(verdict, settings.policy)) return { why: "verdict", ...verdict };
  }
  return zone?.queue.rate === 0 ? { why: "zone", zone: name, state: zone.state } : undefined;
}

const proofOf = ({ lease }: NodeHealth, { proof }: Link): Instant | undefined =>
  lease === undefined ? proof.nodes : proof.leases;

const ms = (from: Instant, to: Instant): number => Math.max(0, Math.round(elapsed(from, to)));

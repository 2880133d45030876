import type { Millis } from "../../../base/clock.ts";
import { type Evidence, isWitnessed, type Verdict, wholeSilence } from "../../../judgement/verdict.ts";

/** The facts about a board on which the hold of its zone depends. */
export interface ZoneMember {
  readonly zone: string;
  readonly verdict: Verdict;
  readonly evidence: Evidence;
}

/**
 * The remaining hold of each zone whose boards were lost together: a switch, a fuse or a cable is a likelier cause than
 * several deaths. Zones that are not held are absent.
 *
 * A zone is held if one of its boards is lost by its silence on the LAN, none is known to run (`isHeard`), and two fell
 * silent within two grace periods. The hold begins with the second of them, so a zone of one board is never held.
 */
export function zoneHolds(boards: readonly ZoneMember[], zoneHold: Millis): ReadonlyMap<string, Millis> {
  const holds = new Map<string, Millis>();
  for (const [zone, members] of Map.groupBy(boards, (board) => board.zone)) {
    if (zoneHold === 0 || !members.some(isLostOnLan) || members.some(isHeard)) continue;
    const left = Math.max(...pairs(members).map(([first, second]) => holdAfter(first, second, zoneHold)));
    if (left >= 0) holds.set(zone, left);
  }
  return holds;
}

const isLostOnLan = ({ verdict, evidence: { asked } }: ZoneMember): boolean =>
  verdict.verdict === "lost" && asked !== undefined;

/**
 * A board that has been silent for more than half of its grace period does not count as heard: it may have been lost
 * too.
 */
const isHeard = ({ verdict, evidence: { silentMs, graceMs } }: ZoneMember): boolean =>
  isWitnessed(verdict) || silentMs <= graceMs / 2;

/** The boards in the order in which they fell silent, each paired with the next one. */
function pairs(members: readonly ZoneMember[]): readonly (readonly [ZoneMember, ZoneMember])[] {
  const sorted = [...members].sort((a, b) => silence(b) - silence(a));
  return sorted.slice(1).map((second, index) => [sorted[index] ?? second, second] as const);
}

const silence = ({ evidence }: ZoneMember): Millis => wholeSilence(evidence);

/** The remaining hold for two boards; negative if they did not fall silent together, or if the hold is over. */
function holdAfter(first: ZoneMember, second: ZoneMember, zoneHold: Millis): Millis {
  const { graceMs } = second.evidence;
  if (silence(first) - silence(second) > 2 * graceMs) return -1;
  return graceMs + zoneHold - silence(second);
}

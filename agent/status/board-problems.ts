import { elapsed, type Instant } from "../base/clock.ts";
import { isoTime } from "../base/iso-time.ts";
import type { Parts, ProblemPart } from "./parts.ts";
import type { NamedBoard, NamedBoards } from "./site-parts.ts";

/**
 * Boards not in use: one line per cause, which names the first few boards and counts the rest. Gives times rather than
 * durations, so that the text, which is sent to the fleet, does not change every second.
 */
export function boardProblems({ boards, now }: Parts): readonly ProblemPart[] {
  if (boards === undefined) return [];
  const { lost, off, notReady } = boards;
  const found: ProblemPart[] = [];
  if (lost.count > 0)
    found.push({
      type: "BoardsLost",
      severity: "warning",
      message: sentence(lost, now, { one: "is lost: silent since", several: "boards are lost, silent since" }),
      hint: "check power, network and kubelet; to take a board out of use on purpose: kubectl cordon NODE",
    });
  if (notReady.count > 0)
    found.push({
      type: "BoardsNotReady",
      severity: "warning",
      message: sentence(notReady, now, {
        one: "is heard but not ready, since",
        several: "boards are heard but not ready, since",
      }),
      hint: "kubectl describe node NODE names the condition; on the board: journalctl -u kubelet",
    });
  if (off.count > 0)
    found.push({
      type: "BoardsOff",
      severity: "info",
      message: sentence(off, now, {
        one: "is cordoned and silent since",
        several: "cordoned boards are silent, since",
      }),
    });
  return found;
}

function sentence(
  { count, some }: NamedBoards,
  now: Instant,
  { one, several }: { readonly one: string; readonly several: string },
): string {
  const when = ({ since, neverHeard }: NamedBoard): string => `${neverHeard ? "before " : ""}${timeOf(since, now)}`;
  const [first] = some;
  if (count === 1 && first) return `${first.name} ${one} ${when(first)}`;
  const names = some.map((board) => `${board.name} (${when(board)})`);
  const rest = count - some.length;
  return `${count} ${several}: ${names.join(", ")}${rest > 0 ? `, and ${rest} more` : ""}`;
}

/** Computed back from now; in UTC, as the reader may be in another time zone than the board. */
export const timeOf = (instant: Instant, now: Instant): string =>
  `${isoTime(now.wall - elapsed(instant, now))
    .slice(0, 16)
    .replace("T", " ")} UTC`;

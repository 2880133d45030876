import { elapsed, type Instant } from "../base/clock.ts";
import { counted } from "../base/text/counted.ts";
import { listed } from "../base/text/listed.ts";
import { isoTime } from "../base/time/iso-time.ts";
import type { NamedBoard, NamedBoards, Parts, ProblemPart, UndrainedBoard } from "./parts.ts";

/**
 * Boards that are not in use: one problem per cause, with the names of the first few boards. The texts have times instead
 * of durations, because they are sent to the fleet at each change.
 */
export function boardProblems({ boards, judgement, now }: Parts): readonly ProblemPart[] {
  if (boards === undefined) return [];
  const { lost, cutOff, off, notReady, undrained = [] } = boards;
  const words = judgement?.isPaused ? atLastJudgement : atPresent;
  const isShadowed = judgement?.isShadowed === true;
  const found: ProblemPart[] = [];
  if (lost.count > 0)
    found.push({
      type: "BoardsLost",
      severity: "warning",
      message: sentence(isShadowed ? withoutHolds(lost) : lost, now, words.lost),
      hint: isShadowed ? shadowHint(lost) : lostHint(lost),
    });
  if (cutOff !== undefined && cutOff.count > 0)
    found.push({
      type: "BoardsCutOff",
      severity: "warning",
      message: `${cutOffText(cutOff, now)}${words.afterwards}${isShadowed ? leftToOthers : ""}`,
      hint: "check the link of the board to the API server, and on the board: journalctl -u kubelet",
    });
  if (notReady.count > 0)
    found.push({
      type: "BoardsNotReady",
      severity: "warning",
      message: sentence(notReady, now, words.notReady),
      hint: "kubectl describe node NODE names the condition; on the board: journalctl -u kubelet",
    });
  if (off.count > 0)
    found.push({
      type: "BoardsOff",
      severity: "info",
      message: sentence(off, now, words.off),
    });
  if (undrained.length > 0)
    found.push({
      type: "CordonedNotDrained",
      severity: "warning",
      message: `${undrainedText(undrained)}${words.afterwards}`,
      hint: "check power, network and kubelet, or drain boards before they are turned off: kubectl drain NODE; evicted pods continue to exist until the board returns or its Node is deleted",
    });
  return found;
}

/** In shadow mode siteward holds nothing, so it cannot say how long pods stay. */
const withoutHolds = ({ count, some }: NamedBoards): NamedBoards => ({
  count,
  some: some.map(({ heldUntil: _, ...board }) => board),
});

const leftToOthers = ", as far as siteward would decide; in shadow mode another program does";

const shadowHint = ({ some }: NamedBoards): string =>
  `check power, network and kubelet; siteward why node/${some[0]?.name ?? "NODE"} says what siteward would have done (shadow mode)`;

/** The next step for lost boards. Those that an operator confirmed dead need no further decision. */
function lostHint({ count, some }: NamedBoards): string {
  const open = some.find(({ confirmedBy }) => confirmedBy === undefined);
  if (open === undefined && count === some.length)
    return "the pods of confirmed boards are deleted by force, and a board returns to service with its next heartbeat; if it is gone for good: kubectl delete node NODE";
  const board = JSON.stringify({ board: open?.name ?? "NODE" });
  return `check power, network and kubelet; if a board is certainly dead: siteward cmd board.confirm-dead '${board}' --reason TEXT; if it was turned off on purpose: kubectl cordon NODE, after which it is listed as BoardsOff, and as CordonedNotDrained as long as it has pods`;
}

/** Silent boards that are known to run, and how that is known. */
function cutOffText({ count, some }: NamedBoards, now: Instant): string {
  const [first] = some;
  if (count === 1 && first) return `${first.name} ${runningTexts[first.witness ?? "lan"].one(whenOf(first, now))}`;
  const names = some.map(
    (board) => `${board.name} (${whenOf(board, now)}, ${runningTexts[board.witness ?? "lan"].several})`,
  );
  return `${count} boards cannot reach the API but are running, so their pods stay: ${listed(names, count)}`;
}

const runningTexts: Readonly<
  Record<NonNullable<NamedBoard["witness"]>, { readonly one: (when: string) => string; readonly several: string }>
> = {
  lan: {
    one: (when) => `has not reached the API since ${when}, but answers on the LAN: its pods stay`,
    several: "answers on the LAN",
  },
  "lan, no kubelet": {
    one: (when) =>
      `has been silent since ${when}: it answers on the LAN, but its kubelet is not running; its pods stay for now`,
    several: "answers on the LAN, but its kubelet is not running",
  },
  leader: {
    one: (when) => `has sent no heartbeat since ${when}, but leads the site, so it runs: its pods stay`,
    several: "leads the site",
  },
};

const atPresent = {
  lost: {
    one: "is lost: it has been silent since",
    several: "boards are lost: they have been silent since",
  },
  notReady: {
    one: "sends heartbeats but is not ready, since",
    several: "boards send heartbeats but are not ready, since",
  },
  off: {
    one: "is cordoned, and has been silent since",
    several: "cordoned boards have been silent since",
  },
  afterwards: "",
};

/** The texts while the judgement is paused, when boards may return without being noticed. */
const atLastJudgement: typeof atPresent = {
  lost: {
    one: "was lost at the last judgement: it had been silent since",
    several: "boards were lost at the last judgement: they had been silent since",
  },
  notReady: {
    one: "sent heartbeats at the last judgement but was not ready, since",
    several: "boards sent heartbeats at the last judgement but were not ready, since",
  },
  off: {
    one: "was cordoned at the last judgement, and had been silent since",
    several: "cordoned boards were silent at the last judgement, since",
  },
  afterwards: " (by the last judgement)",
};

function undrainedText(boards: readonly UndrainedBoard[]): string {
  const some = boards.slice(0, maxNamed).map(({ name, staying, evicted }) => {
    const [gone, due] = [`${evicted} of its pods have been evicted`, `${staying} of its pods will be evicted`];
    return `${name} is cordoned and silent; ${staying === 0 ? gone : evicted === 0 ? due : `${gone}, and ${staying} will be`}`;
  });
  const rest = boards.length - some.length;
  return `${some.join("; ")}${rest > 0 ? `; and ${counted(rest, "more board")}` : ""}`;
}

const maxNamed = 3;

/** Boards in words: their number, the names of the first few, and since when. */
export function sentence(
  { count, some }: NamedBoards,
  now: Instant,
  { one, several }: { readonly one: string; readonly several: string },
): string {
  const [first] = some;
  if (count === 1 && first) {
    const confirmed = first.confirmedBy === undefined ? "" : `; ${first.confirmedBy} confirmed that it is dead`;
    const { heldUntil } = first;
    const held =
      heldUntil &&
      `; its pods stay until ${timeOf(heldUntil, now)}, unless it is confirmed dead (siteward why node/${first.name})`;
    const unjudged = first.unjudged ? "; its new grace period has not ended" : "";
    return `${first.name} ${one} ${whenOf(first, now)}${unjudged}${confirmed}${held ?? ""}`;
  }
  const names = some.map((board) => {
    const confirmed = board.confirmedBy === undefined ? "" : `, confirmed dead by ${board.confirmedBy}`;
    const held = board.heldUntil === undefined ? "" : `, its pods stay until ${timeOf(board.heldUntil, now)}`;
    const unjudged = board.unjudged ? ", not judged again yet" : "";
    return `${board.name} (${whenOf(board, now)}${unjudged}${confirmed}${held})`;
  });
  return `${count} ${several}: ${listed(names, count)}`;
}

const whenOf = ({ since, neverHeard }: NamedBoard, now: Instant): string =>
  `${neverHeard ? "before " : ""}${timeOf(since, now)}`;

/** The UTC time of day, to the second, of an instant in the near future. */
export const clockTime = (instant: Instant, now: Instant): string =>
  `${isoTime(now.wall + elapsed(now, instant)).slice(11, 19)} UTC`;

/** An instant as a UTC time, computed back from the current clock time, because the clock may have been set since. */
export const timeOf = (instant: Instant, now: Instant): string =>
  `${isoTime(now.wall - elapsed(instant, now))
    .slice(0, 16)
    .replace("T", " ")} UTC`;

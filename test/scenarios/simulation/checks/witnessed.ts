import type { Millis } from "../../../../agent/base/clock.ts";
import type { History } from "../history.ts";
import { type Act, actText } from "./acts.ts";

/** How long both boards must have been able to speak to each other: a leader asks every five seconds. */
const heardWithin: Millis = 30_000;

/**
 * Under policy `evidence` a leader harms no board that it could hear on the LAN, whatever became of the board's link to
 * the API server. Who could be heard is the truth of the simulated world, not what agents believed.
 */
export function checkWitnessed({ setting, processes, mute }: History, acts: readonly Act[]): readonly string[] {
  if (setting.policy !== "evidence" || setting.lan === "none") return [];
  const couldSpeak = (board: string, time: Millis): boolean =>
    !(mute.get(board) ?? []).some(
      ({ from, until }) => from <= time && (until === undefined || until >= time - heardWithin),
    );
  return acts
    .filter(({ is, board, process, triedAt }) => {
      const leader = processes.get(process)?.board ?? "";
      return is !== "unknown" && board !== leader && couldSpeak(board, triedAt) && couldSpeak(leader, triedAt);
    })
    .map((act) => `witnessed: ${actText(act)}: it could be heard on the LAN`);
}

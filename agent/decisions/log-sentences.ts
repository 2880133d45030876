import type { StoryState } from "./decision-record.ts";
import type { RecordedAct } from "./grounds.ts";

/** Why acts are only recorded: the controllers run in shadow mode, or decide by a policy beside the acting one. */
export type PretendedFor = "shadow" | "kubernetes";

type Sentences = Readonly<Record<StoryState, string>>;

/** The log line of a story that has reached this state. `pretence`: undefined if the act is a real one. */
export function storySentence(act: RecordedAct, state: StoryState, pretence: PretendedFor | undefined): string {
  if (pretence !== undefined) return pretended[pretence][state];
  return (act === "board-marked" ? ofMarks : ofActs)[state];
}

const ofActs: Sentences = {
  held: "harmful act held",
  lapsed: "harmful act no longer due",
  done: "harmful act done",
  failed: "harmful act failed",
};

/** Marking a board harms nothing: its next heartbeat reverses it. */
const ofMarks: Sentences = {
  held: "mark held",
  lapsed: "mark no longer due",
  done: "board marked as silent",
  failed: "board not marked as silent",
};

const pretendedIn = (where: string): Sentences => ({
  held: `${where}: act would be held`,
  lapsed: `${where}: act would no longer be due`,
  done: `${where}: act would have been done`,
  failed: `${where}: act would have failed`,
});

const pretended: Readonly<Record<PretendedFor, Sentences>> = {
  shadow: pretendedIn("shadow"),
  kubernetes: pretendedIn("policy kubernetes"),
};

import type { Status } from "./schema.ts";

/** How the agent that wrote this status ended, as a clause. It knows only if it had the time to write it. */
export function endingText({ ending }: Pick<Status, "ending">): string {
  if (ending === undefined) return "it was killed or crashed before it could write the reason";
  const { cause, message } = ending;
  if (message !== undefined) return `it ended: ${message}`;
  return cause === "stop" ? "it was stopped" : `it ended (${cause})`;
}

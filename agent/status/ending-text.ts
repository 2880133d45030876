import type { Status } from "./schema.ts";

/** The end of a process that had no time to write a reason into its status. The journal may have one. */
export const uncleanText = "it was killed or crashed, and journalctl -u siteward may say why";

/**
 * How the agent that wrote this status ended, as a clause. The status says so only if the agent had the time to write
 * it.
 */
export function endingText({ ending }: Pick<Status, "ending">): string {
  if (ending === undefined) return uncleanText;
  const { cause, message } = ending;
  if (message !== undefined) return `it ended: ${message}`;
  return cause === "stop" ? "it was stopped" : `it ended (${cause})`;
}

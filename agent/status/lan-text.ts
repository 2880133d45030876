import { counted } from "../base/text/counted.ts";
import { listed } from "../base/text/listed.ts";
import type { Status } from "./schema.ts";

/** Which boards the leader can hear on the LAN. */
export function lanText({ boards, heard, unheard, mute }: NonNullable<Status["lan"]>): string {
  const missing = [
    ...(unheard.count === 0 ? [] : [`no answer from ${listed(unheard.some, unheard.count)}`]),
    ...(mute.count === 0 ? [] : [`no address announced by ${listed(mute.some, mute.count)}`]),
  ];
  return [`${heard} of ${counted(boards, "other board")} answered within a day`, ...missing].join("; ");
}

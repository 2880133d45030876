import { choice } from "./form.ts";

export const readyWord = choice(["T", "F", "U", "-"], {
  about: "The Ready condition of a board: T True, F False, U Unknown, - none at all. A Node in short has T by default.",
});

export type ReadyWord = "T" | "F" | "U" | "-";

const statuses = { T: "True", F: "False", U: "Unknown", "-": undefined } as const;

/** `undefined`: there is no such condition. */
export const statusOf = (word: ReadyWord): "True" | "False" | "Unknown" | undefined => statuses[word];

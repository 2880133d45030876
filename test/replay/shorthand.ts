import { choice, either, list, mapped, text } from "./form.ts";

export const readyWord = choice(["T", "F", "U", "-"], {
  about: "The Ready condition of a board: T True, F False, U Unknown, - none at all. A Node in short has T by default.",
});

export type ReadyWord = "T" | "F" | "U" | "-";

export const readyWords = mapped(
  either(
    [
      text({ about: "One letter for each board.", pattern: /^[TFU-]*$/, takes: "letters T, F, U and -" }),
      list(readyWord, { about: "One for each board." }),
    ],
    { about: "Ready conditions of the boards of a zone, in order.", examples: ["UUT", ["U", "U", "T"], []] },
  ),
  // The pattern has already validated the letters.
  (words): readonly ReadyWord[] => (typeof words === "string" ? ([...words] as ReadyWord[]) : words),
);

const statuses = { T: "True", F: "False", U: "Unknown", "-": undefined } as const;

/** `undefined`: there is no such condition. */
export const statusOf = (word: ReadyWord): "True" | "False" | "Unknown" | undefined => statuses[word];

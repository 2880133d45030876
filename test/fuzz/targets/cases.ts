import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { readCase } from "../../replay/case.ts";
import { replay } from "../../replay/replay.ts";
import { type Target, taken, takenLater } from "../target.ts";

const root = path.resolve(import.meta.dirname, "../../cases");
/** Families whose valid cases end at once. */
const families = ["ZS", "HD", "TN", "TS", "LB", "TQ", "DF", "WQ", "ER", "TT"];

const written = (from: readonly string[]): readonly string[] =>
  from.flatMap((family) =>
    readdirSync(path.join(root, family))
      .slice(0, 12)
      .map((file) =>
        JSON.stringify({ id: file, family, ...JSON.parse(readFileSync(path.join(root, family, file), "utf8")) }),
      ),
  );

export const cases: readonly Target[] = [
  {
    name: "case",
    form: "json",
    open: () => {
      const texts = written(families);
      return {
        example: (random) => texts[random.integer(texts.length)] ?? "",
        run: (input) => taken(["MalformedCase"], () => readCase(input.toString(), "-")),
      };
    },
  },
  {
    name: "case-replayed",
    form: "json",
    share: 5,
    // A command for people, which plays hours of a site.
    longest: 5000,
    open: () => {
      const texts = written(families);
      return {
        example: (random) => texts[random.integer(texts.length)] ?? "",
        run: (input) => takenLater(["MalformedCase"], () => replay(input.toString(), "-")),
      };
    },
  },
];

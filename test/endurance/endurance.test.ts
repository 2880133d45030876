import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { missingCompiler } from "../support/wall-clock.ts";
import { Endurance } from "./endurance.ts";
import { judge } from "./report.ts";

const missing = missingCompiler();
if (missing !== undefined) console.warn(`left out: changes of leader in fast time, because ${missing}`);

/**
 * The bounded share of `npm run test:endurance`. V8 still learns the code of a term then, which is 4 KB each time: a term
 * that stays as a whole, with its controllers and queues, is ten times as much.
 */
const [ofTerms, ofWatches] = [200, 20];

test.skipIf(missing)(
  "after 40 changes of leader and 600 watches two agents hold what they held before",
  { timeout: 170_000 },
  async () => {
    const dir = mkdtempSync(path.join(os.tmpdir(), "siteward-endurance-"));
    const lines: string[] = [];
    const options = { terms: 40, watches: 600, seed: 7, looks: 8, dir, say: (line: string) => lines.push(line) };
    try {
      const { terms, watches, harm } = await new Endurance(options).run();
      const judged = [...judge("change of leader", terms, ofTerms), ...judge("watch", watches, ofWatches)];
      const growing = judged.filter(({ verdict }) => verdict === "grows");
      expect(growing, lines.join("\n")).toEqual([]);
      expect(harm).toEqual([]);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  },
);

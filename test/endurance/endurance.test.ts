import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { missingCompiler } from "../support/wall-clock.ts";
import { Endurance } from "./endurance.ts";
import { judge } from "./report.ts";

const missing = missingCompiler();
if (missing !== undefined) console.warn(`skipped: changes of leader in fast time, because ${missing}`);

/**
 * The bounded part of `npm run test:endurance`. In that phase V8 still optimises the code of a term, about 4 KB each time; a
 * leaked term with its controllers and queues would be ten times as much.
 */
const [ofTerms, ofWatches] = [200, 20];

test.skipIf(missing)(
  "two agents hold no more resources after 40 changes of leader and 600 watches than before",
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

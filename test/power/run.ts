/**
 * The long run of the power cuts: node test/power/run.ts [--cuts 500] [--blocks 500] [--seed S]
 *
 * --cuts: how often a real agent is killed. --blocks: at how many places recorded writes are cut, each in five ways.
 * The seed fixes what happens on the site and where the cuts are; how far the agent is then, the machine decides.
 */
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { cutEverywhere } from "./cut-blocks.ts";
import { cutPower } from "./power-cuts.ts";
import { recordWriter, whyNotRecorded } from "./recorded-writes.ts";

const { values } = parseArgs({
  options: {
    cuts: { type: "string", default: "500" },
    blocks: { type: "string", default: "500" },
    seed: { type: "string" },
  },
});
const seed = Number(values.seed ?? Date.now() % 1_000_000);
const [cuts, blocks] = [Number(values.cuts), Number(values.blocks)];
const folder = mkdtempSync(path.join(os.tmpdir(), "siteward-power-"));
const begun = performance.now();
const say = (what: string): void =>
  console.log(`${String(Math.round((performance.now() - begun) / 1000)).padStart(5)} s  ${what}`);

say(`seed ${seed}, files in ${folder}`);
const why = whyNotRecorded();
if (why !== undefined) say(`left out: recorded writes cut at block boundaries, because ${why}`);
else if (blocks > 0) {
  const deeds = recordWriter(path.join(folder, "blocks"), { seed, rounds: 90 });
  const { states, positions, syncs } = cutEverywhere(deeds, {
    folder: path.join(folder, "blocks/cut"),
    seed,
    cuts: blocks,
  });
  say(
    `${deeds.length} writes with ${syncs} syncs, cut into ${states} states: all sound, at ${positions} moments of the history`,
  );
}
const { problems, ...report } = await cutPower(path.join(folder, "agent"), { cuts, seed, progress: say });
say(JSON.stringify(report));
for (const problem of problems) say(`FAILED ${problem}`);
say(problems.length === 0 ? "sound" : `the files are in ${folder}; again with --seed ${seed}`);
if (problems.length === 0) rmSync(folder, { recursive: true });
else process.exitCode = 1;

import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { optionsOf } from "../support/options.ts";
import { cutEverywhere } from "./cut-blocks.ts";
import { cutPower } from "./power-cuts.ts";
import { recordWriter, whyNotRecorded } from "./recorded-writes.ts";

const help = `Cuts the power: of real agents, and in the middle of recorded writes.

  npm run test:power -- [--cuts N] [--blocks N] [--seed S]

  --cuts N    how often a real agent is killed (500)
  --blocks N  at how many places recorded writes are cut, each in five ways (500)
  --seed S    the same again (drawn, printed)

The seed fixes what happens on the site and where the cuts are; how far the agent is then depends on the machine.
Ends with 0 where everything is sound, 1 where it is not, 64 on wrong use.
`;

const values = optionsOf(help, {
  cuts: { type: "string", default: "500" },
  blocks: { type: "string", default: "500" },
  seed: { type: "string" },
});
const seed = Number(values.seed ?? Date.now() % 1_000_000);
const [cuts, blocks] = [Number(values.cuts), Number(values.blocks)];
const folder = mkdtempSync(path.join(os.tmpdir(), "siteward-power-"));
const begun = performance.now();
const say = (what: string): void =>
  console.log(`${String(Math.round((performance.now() - begun) / 1000)).padStart(5)} s  ${what}`);

say(`seed ${seed}, files in ${folder}`);
const why = whyNotRecorded();
if (why !== undefined) say(`skipped: recorded writes cut at block boundaries, because ${why}`);
else if (blocks > 0) {
  const deeds = recordWriter(path.join(folder, "blocks"), { seed, rounds: 90 });
  const { states, positions, syncs } = cutEverywhere(deeds, {
    folder: path.join(folder, "blocks/cut"),
    seed,
    cuts: blocks,
  });
  say(
    `${deeds.length} writes with ${syncs} syncs, cut into ${states} states: all intact, at ${positions} positions of the history`,
  );
}
const { problems, ...report } = await cutPower(path.join(folder, "agent"), { cuts, seed, progress: say });
say(JSON.stringify(report));
for (const problem of problems) say(`FAILED ${problem}`);
say(problems.length === 0 ? "intact" : `the files are in ${folder}; again with --seed ${seed}`);
if (problems.length === 0) rmSync(folder, { recursive: true });
else process.exitCode = 1;

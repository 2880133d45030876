import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { optionsOf } from "../support/options.ts";
import { missingCompiler } from "../support/wall-clock.ts";
import { Endurance } from "./endurance.ts";
import { judge } from "./report.ts";

const help = `Checks whether changes of leader and watches leave anything behind in an agent: memory, descriptors, files.

  npm run test:endurance -- [--terms N] [--watches N] [--looks N] [--seed S]

  --terms N    so many changes of leader (10000)
  --watches N  so many watches that are opened again (10000)
  --looks N    how often the remains are counted, at least 8 (40)
  --seed S     the same moments again (drawn, printed)

Two real agents on the embedded site. The Lease is taken from its holder again and again, at any moment of a term; then
the server ends each watch after a moment. Time passes ten times as fast for the agents, which needs a C compiler. A line
through the counts gives what each change of leader, and each watch, costs for good; the limits are in report.ts.
Ends with 0 where it costs nothing, 1 where that is not shown, 64 on wrong use, 69 without a compiler.
`;

const values = optionsOf(help, {
  terms: { type: "string", default: "10000" },
  watches: { type: "string", default: "10000" },
  looks: { type: "string", default: "40" },
  seed: { type: "string" },
});
const [terms, watches, looks] = [Number(values.terms), Number(values.watches), Number(values.looks)];
const seed = Number(values.seed ?? Date.now() % 1_000_000);
if (![terms, watches, looks, seed].every(Number.isInteger) || looks < 8 || terms < 0 || watches < 0) {
  console.error("--terms, --watches and --seed must be whole numbers, --looks a whole number from 8");
  process.exit(64);
}
const missing = missingCompiler();
if (missing !== undefined) {
  console.error(`test:endurance: time cannot pass faster, because ${missing}`);
  process.exit(69);
}

const dir = mkdtempSync(path.join(os.tmpdir(), "siteward-endurance-"));
const begun = performance.now();
const say = (line: string): void =>
  console.log(`${String(Math.round((performance.now() - begun) / 1000)).padStart(5)} s  ${line}`);
say(`seed ${seed}: ${terms} changes of leader, ${watches} watches`);
try {
  const endured = await new Endurance({ terms, watches, seed, dir, looks, say }).run();
  const judged = [
    ...(terms > 0 ? judge("change of leader", endured.terms) : []),
    ...(watches > 0 ? judge("watch", endured.watches) : []),
  ];
  for (const { line } of judged) say(line);
  for (const harm of endured.harm) say(`HARM: ${harm}`);
  const isFlat = judged.every(({ verdict }) => verdict === "flat") && endured.harm.length === 0;
  say(isFlat ? "no leak" : "NOT PROVEN: there may be a leak");
  process.exitCode = isFlat ? 0 : 1;
} finally {
  rmSync(dir, { recursive: true, force: true });
}

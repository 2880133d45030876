import { spawnSync } from "node:child_process";
import { lackOfMosquitto } from "../support/mosquitto.ts";
import { optionsOf } from "../support/options.ts";
import { killBroker } from "./kills.ts";

const help = `The fleet against a real mosquitto.

  npm run test:broker -- [--kills N [--seed S]]

Without options: the suites in test/broker.

  --kills N  one long story instead, in which the broker is killed so often while commands flow
  --seed S   the same points again (drawn, printed)

Ends with 0 where everything came true, 1 where it did not, 64 on wrong use.
`;

const values = optionsOf(help, { kills: { type: "string" }, seed: { type: "string" } });
if (values.kills === undefined) {
  const { status } = spawnSync("vitest", ["run", "--project", "broker"], { stdio: "inherit" });
  process.exit(status ?? 1);
}
const lack = lackOfMosquitto();
if (lack !== undefined) {
  console.log(`left out: the broker's kills, because ${lack}`);
  process.exit(1);
}
const seed = Number(values.seed ?? Date.now() % 1_000_000);
const begun = performance.now();
const say = (what: string): void =>
  console.log(`${String(Math.round((performance.now() - begun) / 1000)).padStart(5)} s  ${what}`);
say(`seed ${seed}`);
const { problems, ...report } = await killBroker({ kills: Number(values.kills), seed, progress: say });
say(JSON.stringify(report));
for (const problem of problems) say(`FAILED ${problem}`);
say(problems.length === 0 ? "each command had its effect once, or none" : `again with --seed ${seed}`);
process.exit(problems.length === 0 ? 0 : 1);

import { spawnSync } from "node:child_process";
import { lackOfMosquitto } from "../support/broker/mosquitto.ts";
import { optionsOf } from "../support/options.ts";
import { floodBroker } from "./flood.ts";
import { killBroker } from "./kills.ts";

const help = `The fleet against a real mosquitto.

  npm run test:broker -- [--kills N | --flood N] [--seed S]

Without options: the suites in test/broker.

  --kills N  one long story instead, in which the broker is killed so often while commands flow
  --flood N  another one, in which half of so many commands wait for a board that is off, and the rest come at once
  --seed S   the same points, or commands, again (drawn, printed)

Ends with 0 where everything came true, 1 where it did not, 64 on wrong use.
`;

const values = optionsOf(help, { kills: { type: "string" }, flood: { type: "string" }, seed: { type: "string" } });
if (values.kills === undefined && values.flood === undefined) {
  const { status } = spawnSync("vitest", ["run", "--project", "broker"], { stdio: "inherit" });
  process.exit(status ?? 1);
}
const lack = lackOfMosquitto();
if (lack !== undefined) {
  console.log(`skipped: the stories with a broker, because ${lack}`);
  process.exit(1);
}
const seed = Number(values.seed ?? Date.now() % 1_000_000);
const begun = performance.now();
const say = (what: string): void =>
  console.log(`${String(Math.round((performance.now() - begun) / 1000)).padStart(5)} s  ${what}`);
say(`seed ${seed}`);
const options = { seed, progress: say };
const { problems, ...report } =
  values.kills === undefined
    ? await floodBroker({ commands: Number(values.flood), ...options })
    : await killBroker({ kills: Number(values.kills), ...options });
say(JSON.stringify(report));
for (const problem of problems) say(`FAILED ${problem}`);
say(problems.length === 0 ? "each command took effect once or expired" : `again with --seed ${seed}`);
process.exit(problems.length === 0 ? 0 : 1);

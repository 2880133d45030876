/**
 * `npm run test:load [-- NAME… --seconds N --objects N --seed S]`: real agents, a real etcd and kube-apiserver, and larger
 * loads than those of a site. CI runs a small part of it.
 */
import { missingAssets } from "../support/kube/kube-cluster.ts";
import { commandLineOf } from "../support/options.ts";
import { largeObjects } from "./large-objects.ts";
import type { Load } from "./load.ts";
import { longReader } from "./long-reader.ts";
import { manyObjects } from "./many-objects.ts";
import { pagesThatExpire } from "./pages-that-expire.ts";
import { storm } from "./storm.ts";

const loads: readonly Load[] = [pagesThatExpire, largeObjects, manyObjects, storm, longReader];

const help = `Real agents, a real etcd and kube-apiserver, and more of everything than a site has.

  npm run test:load [-- NAME… --seconds N --objects N --seed S]

${loads.map(({ name, summary }) => `  ${name.padEnd(20)}${summary}`).join("\n")}

  --seconds N   how long a load lasts (300)
  --objects N   how many small objects there are (100000)
  --seed S      what chance does; printed at the begin
`;
const { values, positionals } = commandLineOf(
  help,
  {
    seconds: { type: "string", default: "300" },
    objects: { type: "string", default: "100000" },
    seed: { type: "string" },
  },
  { names: loads.map(({ name }) => name) },
);
const lack = missingAssets();
if (lack !== undefined) {
  console.log(`skipped: the loads, because ${lack}`);
  process.exit(0);
}
const seed = Number(values.seed ?? Date.now() % 1_000_000);
const begun = performance.now();
const say = (what: string): void =>
  console.log(`${String(Math.round((performance.now() - begun) / 1000)).padStart(5)} s  ${what}`);
const faults: string[] = [];
say(`seed ${seed}, ${values.seconds} s, ${values.objects} objects`);
for (const load of loads.filter(({ name }) => positionals.length === 0 || positionals.includes(name))) {
  say(`${load.name}: ${load.summary}`);
  const check = (holds: boolean, what: string): void => {
    if (holds) return;
    faults.push(`${load.name}: ${what}`);
    say(`FAILED ${what}`);
  };
  const context = { seed, seconds: Number(values.seconds), objects: Number(values.objects), say, check };
  await load
    .run(context)
    .catch((error: unknown) => check(false, error instanceof Error ? error.message : String(error)));
}
say(faults.length === 0 ? "all loads passed" : `${faults.length} faults; again with --seed ${seed}`);
process.exit(faults.length === 0 ? 0 : 1);

import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";
import { nodeEnvironment } from "../../../agent/board/profile/runtime-flags.ts";
import { FlappingSite } from "./flapping.ts";

/**
 * Hours of a flapping link on virtual time, and the memory of the process, after a full garbage collection for each
 * sample:
 *
 *   node test/scenarios/simulation/soak.ts --hours 24 --seed 1
 *
 * The figures include two agents and everything around them: kubelets, API server and network are bounded too. It fails
 * if heap or resident memory grow by more than `--most` MB a day (least squares) after the first six hours, in which
 * caches and databases fill. Memory that V8 keeps after a peak is released before a sample and shown beside it: an
 * ordinary collection leaves it resident, so one burst would look like growth.
 */
const { values } = parseArgs({
  options: {
    hours: { type: "string", default: "24" },
    seed: { type: "string", default: "1" },
    most: { type: "string", default: "0.5" },
  },
});
const [hours, seed, most] = [Number(values.hours), Number(values.seed), Number(values.most)];
const [hour, warmUp, fewest, looks] = [3_600_000, 6, 6, 0.125];
if (!Number.isInteger(hours) || hours < warmUp + fewest || !Number.isInteger(seed) || !(most >= 0)) {
  console.error(
    `--hours must be a whole number from ${warmUp + fewest}, --seed a whole number, --most a number of megabytes`,
  );
  process.exit(64);
}

const { gc } = globalThis;
if (gc === undefined) {
  const flags = ["--expose-gc", "--max-semi-space-size=1", "--v8-pool-size=1", "--no-opt", "--no-maglev"];
  const { status } = spawnSync(process.execPath, [...flags, ...process.argv.slice(1)], {
    stdio: "inherit",
    env: { ...process.env, ...nodeEnvironment },
  });
  process.exit(status ?? 1);
}

const begun = performance.now();
const site = new FlappingSite(seed);
const { fleet } = site;
const rows: { readonly hour: number; readonly rss: number; readonly heap: number }[] = [];
site.start();
console.log("hour  before MB  resident MB  heap MB  cuts");
// Individual samples vary by half a megabyte, which would look like growth in a day of hourly samples.
for (let at = looks; at <= hours; at += looks) {
  await fleet.time.runUntil(at * hour);
  const before = process.memoryUsage().rss / 2 ** 20;
  for (let i = 0; i < 3; i++) await gc({ execution: "async", type: "major", flavor: "last-resort" });
  const { rss, heapUsed } = process.memoryUsage();
  rows.push({ hour: at, rss: rss / 2 ** 20, heap: heapUsed / 2 ** 20 });
  if (!Number.isInteger(at)) continue;
  const numbers = [
    before.toFixed(1).padStart(9),
    (rss / 2 ** 20).toFixed(1).padStart(11),
    (heapUsed / 2 ** 20).toFixed(2).padStart(7),
  ];
  console.log([String(at).padStart(4), ...numbers, String(site.cuts).padStart(4)].join("  "));
}
const settled = rows.filter((row) => row.hour > warmUp);
const slopes = { resident: slope(settled, "rss"), heap: slope(settled, "heap") };
const { complaints } = fleet.tally.history;
console.log(
  `seed ${seed}, hours ${warmUp + 1} to ${hours}: resident ${slopes.resident.toFixed(2)} MB/day, heap ${slopes.heap.toFixed(2)} MB/day, ` +
    `${complaints.length} complaints, ${((performance.now() - begun) / 1000).toFixed(0)} s`,
);
for (const { at, text } of complaints.slice(0, 5)) console.log(`  ${at} ${text}`);
fleet.close();
const isFlat = slopes.resident <= most && slopes.heap <= most;
process.exit(isFlat && complaints.length === 0 ? 0 : 1);

/** The slope by least squares, in MB a day. */
function slope(points: typeof rows, what: "rss" | "heap"): number {
  const mean = (of: (point: (typeof rows)[number]) => number): number =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [x, y] = [mean((point) => point.hour), mean((point) => point[what])];
  const over = mean((point) => (point.hour - x) * (point[what] - y));
  return (24 * over) / mean((point) => (point.hour - x) ** 2);
}

import { fork } from "node:child_process";
import { parseArgs } from "node:util";
import { SeededRandom } from "../../support/seeded-random.ts";
import { mutate } from "./mutants.ts";
import { type Failure, reportOf } from "./report.ts";
import { scheduleOf } from "./schedule.ts";

/**
 * Many schedules, one after the other, in several processes:
 *
 *   npm run test:long -- --schedules 10000 --seed 1
 *
 * The number of a schedule is its seed; the first one is `--seed`. A failure is printed with what repeats it, with the
 * schedule and, `--shrink`, with what is left of the schedule when everything that is not needed for it is taken out.
 * `--boards` and `--policy` draw only such sites. `--mutant` breaks the agent first, in one of the ways that mutants.ts
 * lists: then schedules have to fail.
 */
const { values } = parseArgs({
  options: {
    schedules: { type: "string", default: "100" },
    seed: { type: "string", default: "1" },
    jobs: { type: "string", default: "2" },
    boards: { type: "string" },
    policy: { type: "string" },
    shrink: { type: "boolean", default: false },
    trace: { type: "boolean", default: false },
    failures: { type: "string", default: "10" },
    mutant: { type: "string" },
    worker: { type: "string" },
  },
});

const [first, count, jobs] = [Number(values.seed), Number(values.schedules), Number(values.jobs)];
const wishes = {
  boards: values.boards === undefined ? undefined : Number(values.boards),
  policy: values.policy === "kubernetes" || values.policy === "evidence" ? values.policy : undefined,
} as const;
if (![first, count, jobs].every((number) => Number.isInteger(number) && number >= 0)) {
  console.error("--schedules, --seed and --jobs take whole numbers");
  process.exit(64);
}

type Message = { readonly done: true } | { readonly failure: Failure };

if (values.worker === undefined) await lead();
else await work(Number(values.worker));

/** Hands the seeds out in turns, counts, and prints. */
async function lead(): Promise<void> {
  const begun = performance.now();
  const failures: Failure[] = [];
  let done = 0;
  const say = (): void => {
    const seconds = (performance.now() - begun) / 1000;
    console.log(`${done} of ${count} schedules, ${failures.length} failed, ${(done / seconds).toFixed(1)} per second`);
  };
  const ticker = setInterval(say, 30_000);
  const workers = Array.from({ length: Math.min(jobs, count) }, (_, index) => {
    const worker = fork(import.meta.filename, [...process.argv.slice(2), "--worker", String(index)]);
    worker.on("message", (message: Message) => {
      if ("done" in message) {
        done++;
        return;
      }
      failures.push(message.failure);
      console.log(reportOf(message.failure));
      if (failures.length >= Number(values.failures)) for (const other of workers) other.kill();
    });
    return worker;
  });
  const codes = await Promise.all(
    workers.map((worker) => new Promise<number | null>((resolve) => worker.on("exit", resolve))),
  );
  clearInterval(ticker);
  say();
  if (failures.length > 0) console.log(`failed: ${failures.map(({ schedule }) => schedule.seed).join(" ")}`);
  process.exit(failures.length > 0 || codes.some((code) => code !== 0) ? 1 : 0);
}

async function work(index: number): Promise<void> {
  if (values.mutant !== undefined) mutate(values.mutant);
  // Only now: what is loaded before cannot be broken any more.
  const [{ runSchedule }, { shrunk }] = await Promise.all([import("./run-schedule.ts"), import("./shrink.ts")]);
  const send = (message: Message): void => void process.send?.(message);
  for (let seed = first + index; seed < first + count; seed += Math.min(jobs, count)) {
    const schedule = scheduleOf(seed, new SeededRandom(seed), wishes);
    const { violations, trace } = await runSchedule(schedule, { everything: values.trace });
    if (violations.length > 0) {
      const least = values.shrink ? await shrunk(schedule) : undefined;
      send({ failure: { schedule, violations, trace, least, options: optionsToRepeat() } });
    }
    send({ done: true });
  }
}

function optionsToRepeat(): string {
  const drawn = ["boards", "policy"] as const;
  return drawn.flatMap((name) => (values[name] === undefined ? [] : [`--${name} ${values[name]}`])).join(" ");
}

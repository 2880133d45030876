import { expect, test } from "vitest";
import { SeededRandom } from "../../support/seeded-random.ts";
import { campaignIn } from "./campaign.ts";
import { reportOf } from "./report.ts";
import { scheduleOf, type Wishes } from "./schedule.ts";

const asked = (line: string) => campaignIn(line === "" ? [] : line.split(" "), 4);

test("a run without arguments plays a hundred schedules from seed 1, on all processors", () => {
  expect(asked("")).toMatchObject({ seed: 1, schedules: 100, jobs: 4, mostFailures: 10, mutant: undefined });
});

test("the arguments determine the run", () => {
  expect(asked("--schedules 10000 --seed 7 --boards 5 --policy evidence --shrink")).toMatchObject({
    seed: 7,
    schedules: 10_000,
    wishes: { boards: 5, policy: "evidence" },
    shrink: true,
  });
  expect(asked("--mutant every")).toMatchObject({ mutant: "every" });
});

test.each(["--help", "-h", "--seed 5 --help"])("%s prints the help", (line) =>
  expect(asked(line)).toEqual({ help: true }),
);

test.each([
  ["--schedule 5", "Unknown option '--schedule'"],
  ["5", "Unexpected argument '5'"],
  ["--schedules 0", "--schedules must be a whole number from 1"],
  ["--seed 1e3", "--seed must be a whole number from 0"],
  ["--seed=-1", "--seed must be a whole number from 0"],
  ["--boards 21", "--boards must be a whole number from 1 to 20"],
  ["--policy upstream", 'there is no policy "upstream"; there are: evidence, kubernetes'],
  ["--motif rain", 'there is no motif "rain"; there are: deaf leader'],
  ["--mutant none", 'there is no mutant "none"; there are: every'],
  ["--mutant every --boards 3", "a mutant determines its own boards"],
  ["--lan wifi", 'there is no lan "wifi"; there are: none, apart, same cable'],
])("%s is refused with a sentence", (line, sentence) => {
  expect(asked(line)).toEqual({ problem: expect.stringContaining(sentence) });
});

test.each<{ wishes: Wishes; mutant?: string }>([
  { wishes: {} },
  { wishes: { boards: 3, policy: "kubernetes", motif: "dark zone" } },
  { wishes: { policy: "evidence", lan: "same cable", motif: "cut board" } },
  { wishes: { motif: "paused leader", boards: 3 }, mutant: "a fence that never blocks" },
])("the command in a failure's report repeats the same schedule: $wishes $mutant", ({ wishes, mutant }) => {
  const schedule = scheduleOf(77, new SeededRandom(77), wishes);
  const [, line = ""] =
    /npm run test:long -- (.*)/.exec(reportOf({ schedule, violations: ["x"], trace: [], wishes, mutant })) ?? [];
  const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
  const again = mutant === undefined ? { wishes } : { mutant };
  expect(campaignIn(words, 4)).toMatchObject({ seed: 77, schedules: 1, ...again });
});

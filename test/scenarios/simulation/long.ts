import { availableParallelism } from "node:os";
import { type Campaign, campaignIn, usage } from "./campaign.ts";
import { tallyOf } from "./harm/harm-tally.ts";
import { mutantOf, mutants } from "./mutants.ts";
import { type Failure, reportOf } from "./report.ts";
import { Work } from "./work.ts";

/** Many schedules, in several processes: see campaign.ts. */
const campaign = campaignIn(process.argv.slice(2), availableParallelism());
if ("problem" in campaign) {
  console.error(`test:long: ${campaign.problem}\n\n${usage}`);
  process.exit(64);
}
if ("help" in campaign) {
  console.log(usage);
  process.exit(0);
}
process.exit(campaign.mutant === "every" ? await everyMutant(campaign) : await run(campaign));

async function run(campaign: Campaign): Promise<number> {
  const { seed, schedules, mutant } = campaign;
  const wishes = mutant === undefined ? campaign.wishes : mutantOf(mutant).wishes;
  const work = new Work({ ...campaign, wishes });
  const begun = performance.now();
  const sofar = (): string => {
    const pace = (1000 * work.done) / (performance.now() - begun);
    return `${work.done} of ${schedules} schedules, ${work.failures.length} failed, ${pace.toFixed(1)} per second`;
  };
  const ticker = setInterval(() => console.log(sofar()), 30_000);
  const isWhole = await work.run((failure) => console.log(reportOf(failure)));
  clearInterval(ticker);
  if (!isWhole) console.log("a process ended before it had played its share");
  if (work.failures.length > 0) console.log(`failed: ${work.failures.map(({ schedule }) => schedule.seed).join(" ")}`);
  if (campaign.tally) console.log(tallyOf(work.harms).join("\n"));
  console.log(`seeds ${seed} to ${seed + schedules - 1}: ${sofar()}`);
  return work.failures.length === 0 && isWhole ? 0 : 1;
}

/** Plays all mutants: each must be detected, and by its own check. */
async function everyMutant(campaign: Campaign): Promise<number> {
  let missed = 0;
  for (const [mutant, { noticedBy, wishes }] of Object.entries(mutants)) {
    const isNoticed = (violation: string) => violation.startsWith(`${noticedBy}: `);
    const isEnough = ({ violations }: Failure) => violations.some(isNoticed);
    const work = new Work({ ...campaign, wishes, mutant, isEnough });
    await work.run(() => {});
    const failure = work.failures.find(isEnough) ?? work.failures[0];
    const violation = failure?.violations.find(isNoticed);
    if (violation === undefined) missed++;
    const noticed = violation ?? failure?.violations[0];
    const seen = noticed === undefined ? "NOT NOTICED" : `seed ${failure?.schedule.seed}: ${noticed}`;
    console.log(
      `${mutant}: ${violation === undefined && noticed !== undefined ? `NOT by "${noticedBy}", but ` : ""}${seen}`,
    );
  }
  const { seed, schedules } = campaign;
  const all = Object.keys(mutants).length;
  console.log(`seeds ${seed} to ${seed + schedules - 1} at most: ${all - missed} of ${all} mutants were detected`);
  return missed === 0 ? 0 : 1;
}

import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { isMotif, motifs } from "./motifs.ts";
import { mutants } from "./mutants.ts";
import type { Wishes } from "./schedule.ts";
import type { Order } from "./work.ts";

/** The options of a run. */
export type Campaign = Order;

const listed = (names: object): string =>
  Object.keys(names)
    .map((name) => `      "${name}"`)
    .join("\n");

export const usage = `npm run test:long -- [--schedules N] [--seed S] [--jobs N] […]

Whole sites of real agents, on virtual time and an API server of their own, to which anything may happen: what happens is
drawn from a seed, and one seed tells the same story every time. Each promise is looked after in each of them.

  --schedules N   how many (100)
  --seed S        the seed of the first one (1); each further one is one higher
  --jobs N        processes side by side (as many as there are processors)
  --failures N    so many failures are enough (10)
  --shrink        of a failure, also what is left of its faults when those that it does not need are taken out
  --trace         of a failure, all that happened, and not only the end
  --tally         at the end, how many harmful acts met living boards, and how long dead ones had to wait

Only some schedules are drawn:

  --boards N      sites of so many boards (1 to 20, mostly few)
  --policy P      evidence or kubernetes
  --lan L         none, apart (from the links to the API server) or "same cable"
  --motif M       only this trouble, in each of them:
${listed(motifs)}

The agent is broken first, so that schedules have to fail:

  --mutant M      in this way; "every": each of them in turn, and for each there is a check that has to notice
${listed(mutants)}

A failure is printed with the command that repeats it. Exit: 0 every promise was kept, 1 one was not, 64 wrong use.`;

const mostJobs = 64;

const options = {
  schedules: { type: "string", default: "100" },
  seed: { type: "string", default: "1" },
  jobs: { type: "string" },
  failures: { type: "string", default: "10" },
  boards: { type: "string" },
  policy: { type: "string" },
  lan: { type: "string" },
  motif: { type: "string" },
  mutant: { type: "string" },
  shrink: { type: "boolean", default: false },
  trace: { type: "boolean", default: false },
  tally: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
} as const satisfies ParseArgsOptionsConfig;

/** An invalid command line; the message is a sentence. */
class Misuse extends Error {}

export function campaignIn(
  args: readonly string[],
  processors: number,
): Campaign | { readonly help: true } | { readonly problem: string } {
  try {
    const { values } = parsed(args);
    if (values.help) return { help: true };
    const { shrink, trace, tally } = values;
    return {
      seed: whole("seed", values.seed, 0, 2 ** 31),
      schedules: whole("schedules", values.schedules, 1, 2 ** 31),
      jobs: whole("jobs", values.jobs ?? String(Math.min(processors, mostJobs)), 1, mostJobs),
      mostFailures: whole("failures", values.failures, 1, 1000),
      wishes: wishesIn(values),
      mutant: among("mutant", values.mutant, ["every", ...Object.keys(mutants)]),
      shrink,
      trace,
      tally,
    };
  } catch (error) {
    if (error instanceof Misuse) return { problem: error.message };
    throw error;
  }
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options });
  } catch (error) {
    throw new Misuse(error instanceof Error ? (error.message.split(". ")[0] ?? "") : String(error));
  }
}

function wishesIn({ boards, policy, lan, motif, mutant }: ReturnType<typeof parsed>["values"]): Wishes {
  if (mutant !== undefined && (boards ?? policy ?? lan ?? motif) !== undefined) {
    throw new Misuse("a mutant determines its own boards, policy, LAN and motif");
  }
  return {
    boards: boards === undefined ? undefined : whole("boards", boards, 1, 20),
    policy: among("policy", policy, ["evidence", "kubernetes"]),
    lan: among("lan", lan, ["none", "apart", "same cable"]),
    motif: among("motif", motif, Object.keys(motifs).filter(isMotif)),
  };
}

function whole(name: string, text: string, least: number, most: number): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= least && number <= most) return number;
  throw new Misuse(`--${name} must be a whole number from ${least} to ${most}, not "${text}"`);
}

function among<Name extends string>(what: string, text: string | undefined, names: readonly Name[]): Name | undefined {
  const found = names.find((name) => name === text);
  if (found !== undefined || text === undefined) return found;
  throw new Misuse(`there is no ${what} "${text}"; there are: ${names.join(", ")}`);
}

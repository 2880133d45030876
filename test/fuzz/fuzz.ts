import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { SeededRandom } from "../support/seeded-random.ts";
import { mutated } from "./mutate.ts";
import { smallest } from "./smallest.ts";
import type { Session, Target } from "./target.ts";

export interface Wanted {
  readonly seed: number;
  /** The number of inputs; fewer if the time ends earlier. */
  readonly inputs: number;
  readonly milliseconds?: number | undefined;
  /** The number of the first input; that of a failure repeats it. */
  readonly first?: number | undefined;
  /** Called before each input, so that an observer knows which one never ends. */
  readonly at?: (input: number) => void;
}

export interface Failure {
  readonly kind: "crash" | "slow" | "growth" | "endless";
  readonly target: string;
  readonly seed: number;
  readonly input: number;
  readonly why: string;
  /** The input, reduced as far as it still fails. */
  readonly bytes: Buffer;
}

export interface Report {
  readonly target: string;
  readonly inputs: number;
  /** The number of accepted inputs. */
  readonly taken: number;
  readonly milliseconds: number;
  /** The longest time of an input in milliseconds, the least of repeated reads. */
  readonly slowest: number;
  /** Growth of the heap in bytes, from the first fifth to the end. */
  readonly growth: number;
  readonly failures: readonly Failure[];
}

const longestRun = 50;
const mostGrowth = 8 * 2 ** 20;
const mostFailures = 5;

export async function fuzz(target: Target, wanted: Wanted): Promise<Report> {
  const { seed, inputs, milliseconds = Number.POSITIVE_INFINITY, first = 0 } = wanted;
  const session = await target.open();
  const failures: Failure[] = [];
  const begun = performance.now();
  let [count, took, slowest] = [0, 0, 0];
  let base: number | undefined;
  const failed = async (kind: Failure["kind"], input: number, why: string, bytes: Buffer): Promise<void> => {
    const isSame = async (less: Buffer): Promise<boolean> =>
      (await outcomeOf(session, less, seedOf(seed, target.name, input))).why === why;
    failures.push({
      kind,
      target: target.name,
      seed,
      input,
      why,
      bytes: kind === "crash" ? await smallest(bytes, isSame) : bytes,
    });
  };
  try {
    for (; count < inputs && performance.now() - begun < milliseconds && failures.length < mostFailures; count++) {
      const isWarm = count >= inputs / 5 || performance.now() - begun > milliseconds / 5;
      if (base === undefined && isWarm) base = heap();
      const input = first + count;
      wanted.at?.(input);
      const bytes = inputOf(target, session, seed, input);
      const outcome = await outcomeOf(session, bytes, seedOf(seed, target.name, input));
      // The same defect is reported once.
      const isNew = failures.every(({ why }) => why !== outcome.why);
      if (outcome.why !== undefined && isNew) await failed("crash", input, outcome.why, bytes);
      if (outcome.isTaken) took++;
      if (outcome.milliseconds <= slowest) continue;
      const least = await leastOf(session, bytes, seedOf(seed, target.name, input), outcome.milliseconds);
      slowest = Math.max(slowest, least);
      if (least > (target.longest ?? longestRun)) {
        await failed("slow", input, `took ${Math.round(least)} ms each time`, bytes);
        break;
      }
    }
    const growth = base === undefined ? 0 : heap() - base;
    if (growth > mostGrowth) {
      const why = `the heap grew by ${Math.round(growth / 2 ** 20)} MiB over ${Math.round(count * 0.8)} inputs`;
      await failed("growth", first + count - 1, why, Buffer.alloc(0));
    }
    return {
      target: target.name,
      inputs: count,
      taken: took,
      milliseconds: performance.now() - begun,
      slowest,
      growth,
      failures,
    };
  } finally {
    session.close?.();
  }
}

/** Depends only on the numbers, not on earlier inputs. */
export function inputOf(target: Target, session: Session, seed: number, input: number): Buffer {
  const random = new SeededRandom(seedOf(seed, target.name, input));
  return mutated(target.form, Buffer.from(session.example(random)), Buffer.from(session.example(random)), random);
}

function seedOf(seed: number, target: string, input: number): number {
  let mixed = seed ^ Math.imul(input + 1, 0x9e3779b1);
  for (const letter of target) mixed = Math.imul(mixed ^ letter.charCodeAt(0), 0x01000193);
  return mixed >>> 0;
}

interface Outcome {
  readonly isTaken: boolean;
  readonly milliseconds: number;
  /** The forbidden error that the reader threw, if any. */
  readonly why: string | undefined;
}

async function outcomeOf(session: Session, bytes: Buffer, seed: number): Promise<Outcome> {
  const random = new SeededRandom(seed ^ 0x5bd1e995);
  const begun = performance.now();
  try {
    const answer = session.run(bytes, random);
    const isTaken = typeof answer === "boolean" ? answer : await answer;
    return { isTaken, milliseconds: performance.now() - begun, why: undefined };
  } catch (error) {
    return { isTaken: false, milliseconds: performance.now() - begun, why: placeOf(error) };
  }
}

/** The message and place of an error: a smaller input must fail in the same place. */
function placeOf(error: unknown): string {
  if (!(error instanceof Error)) return `threw ${typeof error}`;
  const place = error.stack?.split("\n").find((line) => /^\s+at .*\/(agent|storage|node_modules)\//.test(line));
  return `${error.name}: ${error.message.split("\n")[0]?.slice(0, 160)}${place ? ` ${place.trim().replace(/file:\/\/\S*?(?=agent|storage|node_modules)/, "")}` : ""}`;
}

/**
 * An input counts as slow only if it is slow repeatedly, because of garbage collections and the machine's other work. CPU time
 * is measured, so that waiting for a disk or a processor does not count.
 */
async function leastOf(session: Session, bytes: Buffer, seed: number, first: number): Promise<number> {
  let least = first;
  for (let again = 0; again < (first > longestRun ? 4 : 1); again++) {
    const before = process.threadCpuUsage();
    const { milliseconds } = await outcomeOf(session, bytes, seed);
    const { user, system } = process.threadCpuUsage(before);
    least = Math.min(least, milliseconds, (user + system) / 1000);
  }
  return least;
}

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

function heap(): number {
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

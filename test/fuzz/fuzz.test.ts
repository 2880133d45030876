import { describe, expect, test } from "vitest";
import { SeededRandom } from "../support/seeded-random.ts";
import { fuzz } from "./fuzz.ts";
import { targets as mutants } from "./mutants.ts";
import type { Target } from "./target.ts";
import { targets } from "./targets.ts";
import { watched } from "./watched.ts";

/** A bounded, repeatable part of `npm run fuzz`. */
const seed = 20_261_120;
const longest = 150;

describe("damaged input is read or refused", () => {
  test.each(targets.map(({ name }) => name))("%s", async (name) => {
    const target = named(targets, name);
    const { failures, inputs } = await fuzz(target, { seed, inputs: 2 * (target.share ?? 100), milliseconds: longest });
    expect(failures).toEqual([]);
    expect(inputs).toBeGreaterThan(0);
  });
});

test.each(targets.map(({ name }) => name))("%s accepts an unchanged example", async (name) => {
  const session = await named(targets, name).open();
  try {
    let taken = 0;
    for (let at = 0; at < 6; at++) {
      const random = new SeededRandom(seed + at);
      if (await session.run(Buffer.from(session.example(random)), random)) taken++;
    }
    expect(taken).toBeGreaterThan(2);
  } finally {
    session.close?.();
  }
});

describe("a fuzzing run detects", () => {
  test.each([
    ["quadratic", "slow", 20],
    ["throws", "crash", 500],
    ["overflows", "crash", 5000],
    ["grows", "growth", 400],
    ["half-applied", "crash", 500],
  ] as const)("a faulty reader: %s", async (name, kind, inputs) => {
    const { failures } = await fuzz(named(mutants, name), { seed, inputs, milliseconds: 20_000 });
    expect(failures[0]).toMatchObject({ kind, target: name, seed });
  });

  test("a reader that never ends, and stops it", async () => {
    const target = named(mutants, "endless");
    const module = new URL("mutants.ts", import.meta.url).href;
    const { failures } = await watched(target, module, { seed, inputs: 10_000 }, 1500);
    expect(failures).toMatchObject([{ kind: "endless", target: "endless", seed }]);
  });

  test("a failure again by its number, reduced to its smallest form", async () => {
    const target = named(mutants, "throws");
    const [failure] = (await fuzz(target, { seed, inputs: 500 })).failures;
    expect(failure?.bytes.length).toBeLessThan(40);
    const [again] = (await fuzz(target, { seed, inputs: 1, first: failure?.input })).failures;
    expect(again).toEqual(failure);
  });
});

function named(from: readonly Target[], name: string): Target {
  const target = from.find((one) => one.name === name);
  if (target === undefined) throw new Error(`there is no target ${name}`);
  return target;
}

import { describe, expect, test } from "vitest";
import { EmbeddedServer } from "./embedded-server.ts";
import { deafMutants } from "./mutants/deaf.ts";
import { describingMutants } from "./mutants/describing.ts";
import { endingMutants } from "./mutants/ending.ts";
import { failingMutants } from "./mutants/failing.ts";
import { lyingMutants } from "./mutants/lying.ts";
import { meddlingMutants } from "./mutants/meddling.ts";
import type { Mutant } from "./mutants/mutant.ts";
import { patchMutants } from "./mutants/patching.ts";
import { servePlainly } from "./mutants/plain-http.ts";
import { watchMutants } from "./mutants/watching.ts";
import type { Rule } from "./rule.ts";
import { look } from "./run.ts";
import { suite } from "./suite.ts";

const mutants: readonly Mutant[] = [
  ...deafMutants,
  ...patchMutants,
  ...lyingMutants,
  ...failingMutants,
  ...describingMutants,
  ...watchMutants,
  ...endingMutants,
  ...meddlingMutants,
];

/** Milliseconds after which an event counts as missing. */
const patience = 1500;

function ruleOf(id: string): Rule {
  const rule = suite.find((one) => one.id === id);
  if (rule === undefined) throw new Error(`there is no rule ${id}`);
  return rule;
}

describe.concurrent("a server that", () => {
  test.each(mutants.map((mutant) => [mutant.does, mutant] as const))(
    "%s is detected",
    async (_, { breaks, made, plainHttp = false }) => {
      const rules = breaks.map(ruleOf);
      const server = await (plainHttp ? EmbeddedServer.start(made, servePlainly) : EmbeddedServer.start(made));
      const check = async (rule: Rule): Promise<void> => {
        const { result, why } = await look(rule, server.target, patience);
        expect(`${rule.id}: ${result}`).toBe(`${rule.id}: unmet`);
        // Detected by its fault, not because nothing works there.
        expect(why).toMatch(/\n {2}request: .*\n {2}expected: .*\n {2}came: /s);
        expect(why).not.toMatch(/came: +(socket hang up|.*ECONN)/);
      };
      try {
        await Promise.all(rules.filter(({ alone }) => !alone).map(check));
        for (const rule of rules) if (rule.alone) await check(rule);
      } finally {
        await server.stop();
      }
    },
  );
});

test("names of mutants and of rules are unique", () => {
  expect(new Set(mutants.map(({ does }) => does)).size).toBe(mutants.length);
  expect(new Set(suite.map(({ id }) => id)).size).toBe(suite.length);
});

test("every rule is broken by some mutant", () => {
  // The embedded API has no TLS, and therefore no HTTP/2.
  const broken = new Set(["http2", ...mutants.flatMap(({ breaks }) => breaks)]);
  expect(suite.map(({ id }) => id).filter((id) => !broken.has(id))).toEqual([]);
});

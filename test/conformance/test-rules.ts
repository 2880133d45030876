import { afterAll, beforeAll, describe, test } from "vitest";
import type { Rule } from "./rule.ts";
import { look } from "./run.ts";
import { suite } from "./suite.ts";
import type { Target } from "./target.ts";

/** A server for the duration of some tests. */
interface Server {
  readonly target: Target;
  stop(): Promise<void>;
}

/** One test for each rule, all with the same server. */
export function testRules(server: string, start: () => Promise<Server>): void {
  let running: Server | undefined;
  beforeAll(async () => {
    running = await start();
  });
  afterAll(() => running?.stop());

  const tested = (rule: Rule): void => {
    test(`${rule.id}: ${rule.title}`, async ({ skip }) => {
      if (running === undefined) throw new Error(`${server} does not run`);
      const { result, why } = await look(rule, running.target);
      if (result === "unmet") throw new Error(why);
      if (result === "met") return;
      process.stdout.write(`not checked on ${server}: ${rule.id}, because ${why}\n`);
      skip(why);
    });
  };

  describe.concurrent(server, () => {
    for (const rule of suite) if (!rule.alone) tested(rule);
  });
  describe(`${server}, with one rule at a time`, () => {
    for (const rule of suite) if (rule.alone) tested(rule);
  });
}

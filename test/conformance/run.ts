import { Ground } from "./ground.ts";
import type { Rule } from "./rule.ts";
import type { Target } from "./target.ts";
import { NotChecked } from "./unmet.ts";

export interface Outcome {
  readonly rule: Rule;
  readonly result: "met" | "unmet" | "not checked";
  /** Why it is unmet or not checked. */
  readonly why: string;
  readonly milliseconds: number;
}

/** The number of concurrent rules. Each has its own namespace. */
const sideBySide = 8;
const usualPatience = 15_000;

/** Checks one rule. Never throws. */
export async function look(rule: Rule, target: Target, patience = usualPatience): Promise<Outcome> {
  const begun = performance.now();
  const site = new Ground(target, rule.id, patience);
  const outcomeOf = (result: Outcome["result"], why: string): Outcome => ({
    rule,
    result,
    why,
    milliseconds: Math.round(performance.now() - begun),
  });
  try {
    await rule.check(site);
    return outcomeOf("met", "");
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return outcomeOf(error instanceof NotChecked ? "not checked" : "unmet", why);
  } finally {
    await site.clear();
  }
}

/** Checks all rules, first the concurrent ones, and reports each outcome at once. */
export async function lookAtAll(
  rules: readonly Rule[],
  target: Target,
  tell: (outcome: Outcome) => void,
): Promise<void> {
  const together = rules.filter(({ alone }) => !alone);
  const next = together.values();
  const lane = async (): Promise<void> => {
    for (const rule of next) tell(await look(rule, target));
  };
  await Promise.all(Array.from({ length: sideBySide }, lane));
  for (const rule of rules) if (rule.alone) tell(await look(rule, target));
}

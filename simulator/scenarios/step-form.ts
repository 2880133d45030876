import { mapped, optional, type Schema, word } from "../../agent/base/schema.ts";
import { anything, names, oneEach, rule, ruled, time } from "./forms.ts";
import { type Claim, claims, type Deed, type Expectation, type ScenarioVerb, type Step, verbs } from "./scenario.ts";

/** The names that a step may use. */
export interface Words {
  readonly boards: readonly string[];
  readonly zones: readonly string[];
  readonly workloads: readonly string[];
  readonly daemons: readonly string[];
}

/** One step: one action, or as many expectations as it names claims. */
export const stepForm = (words: Words): Schema<readonly Step[]> =>
  ruled(
    { at: time, do: optional(deedForm(words)), expect: optional(expectForm(words)) },
    (written, problems) => {
      if ((written.do === undefined) === (written.expect === undefined)) {
        problems.add(rule("must have either do: or expect:"));
      }
    },
    ({ at, do: deed, expect = [] }) => (deed ? [{ at, deed }] : expect.map((expected) => ({ at, expected }))),
  );

/** The verb that each option belongs to. */
const ownerOf = { delay: "slow", down: "flap", up: "flap", for: "restart", how: "cut" } as const;
const deedOptions = {
  ...oneEach(["delay", "down", "up", "for"], () => time),
  how: optional(word("silent", "refused")),
};

const deedForm = (words: Words): Schema<Deed> =>
  ruled(
    { ...oneEach(verbs, (verb) => names(targetsOf(verb, words))), ...deedOptions },
    (written, problems) => {
      const [verb, second] = verbs.filter((one) => written[one] !== undefined);
      if (verb === undefined || second !== undefined) {
        return problems.add(rule(`must be one of ${verbs.join(", ")} with its targets, such as { power-off: pi-2 }`));
      }
      for (const [option, owner] of Object.entries(ownerOf)) {
        if (written[option] !== undefined && owner !== verb) problems.addAt(option, rule(`is not for ${verb}`));
      }
    },
    ({ delay = 500, down = 5000, up = 5000, for: lasting = 3000, how = "silent", ...found }) => {
      const verb = verbs.find((one) => found[one] !== undefined);
      return verb && { verb, targets: found[verb] ?? [], delay, down, up, for: lasting, how };
    },
  );

function targetsOf(verb: ScenarioVerb, words: Words): readonly string[] {
  if (verb === "roll") return words.daemons;
  return [...words.boards, ...words.zones, "all", "leader", "hit", ...(verb === "restart" ? ["api"] : [])];
}

const expectForm = (words: Words): Schema<readonly Expectation[]> =>
  ruled(
    { ...oneEach(claims, (claim) => claimed(claim, words)), within: optional(time), for: optional(time) },
    (written, problems) => {
      if (!claims.some((claim) => written[claim] !== undefined)) {
        problems.add(rule(`must have at least one of ${claims.join(", ")}`));
      }
      if (written.within !== undefined && written.for !== undefined) {
        problems.addAt("for", rule("cannot be combined with within: a condition becomes true, or it stays true"));
      }
    },
    ({ within = 0, for: during = 0, ...found }) =>
      claims.flatMap((claim) => {
        const of = found[claim];
        return of ? [{ claim, of, within, for: during }] : [];
      }),
  );

function claimed(claim: Claim, { boards, zones, workloads, daemons }: Words): Schema<readonly string[]> {
  switch (claim) {
    case "leader":
      return names([...boards, "any", "none", "same", "changed"], 1);
    case "term":
      return mapped(anything, (value, problems) => {
        const isTerm = typeof value === "number" && Number.isInteger(value) && value >= 0;
        return isTerm ? [String(value)] : names(["same", "next"], 1).read(value, problems);
      });
    case "evicted":
    case "kept":
      return names([...boards, ...zones, ...workloads, "all", "hit"]);
    case "rolled":
      return names(daemons);
    default:
      return names([...boards, ...zones, "all", "leader", "hit"]);
  }
}

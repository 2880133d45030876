import { type Fields, type Problems, quoted } from "./problems.ts";
import { type Claim, claims, type Deed, type Expectation, type ScenarioVerb, type Step, verbs } from "./scenario.ts";

/** The names that a step may use. */
export interface Words {
  readonly boards: readonly string[];
  readonly zones: readonly string[];
  readonly workloads: readonly string[];
  readonly daemons: readonly string[];
}

type Path = readonly string[];

const deedOptions: Readonly<Record<string, readonly ScenarioVerb[]>> = {
  delay: ["slow"],
  down: ["flap"],
  up: ["flap"],
  for: ["restart"],
  how: ["cut"],
};

/** Parses one step: one action, or as many expectations as it names claims. */
export function readStep(problems: Problems, path: Path, value: unknown, words: Words): readonly Step[] {
  const fields = problems.fields(path, value, ["at", "do", "expect"]);
  const [near] = Object.keys(fields);
  if (fields.at === undefined) problems.at(path, "has no time; write at: 40s", near);
  const at = problems.duration([...path, "at"], fields.at, 0);
  if ((fields.do === undefined) === (fields.expect === undefined)) {
    problems.at(path, "must have either do: or expect:", near);
    return [];
  }
  if (fields.do !== undefined) {
    const deed = readDeed(problems, [...path, "do"], fields.do, words);
    return deed === undefined ? [] : [{ at, deed }];
  }
  return readExpectations(problems, [...path, "expect"], fields.expect, words).map((expected) => ({ at, expected }));
}

function readDeed(problems: Problems, path: Path, value: unknown, words: Words): Deed | undefined {
  const fields = problems.fields(path, value, [...verbs, ...Object.keys(deedOptions)]);
  const named = verbs.filter((verb) => fields[verb] !== undefined);
  const [verb] = named;
  if (verb === undefined || named.length > 1) {
    problems.at(path, `must be one of ${verbs.join(", ")} with its targets, such as { power-off: pi-2 }`);
    return undefined;
  }
  for (const [option, owners] of Object.entries(deedOptions)) {
    if (fields[option] !== undefined && !owners.includes(verb)) problems.at([...path, option], `is not for ${verb}`);
  }
  const { how } = fields;
  if (how !== undefined && how !== "silent" && how !== "refused") {
    problems.at([...path, "how"], `must be silent or refused, not ${quoted(how)}`);
  }
  const boards = [...words.boards, ...words.zones, "all", "leader", "hit", ...(verb === "restart" ? ["api"] : [])];
  const allowed = verb === "roll" ? words.daemons : boards;
  return {
    verb,
    targets: namesOf(problems, [...path, verb], fields[verb], allowed),
    delay: problems.duration([...path, "delay"], fields.delay, 500),
    down: problems.duration([...path, "down"], fields.down, 5000),
    up: problems.duration([...path, "up"], fields.up, 5000),
    for: problems.duration([...path, "for"], fields.for, 3000),
    how: how === "refused" ? "refused" : "silent",
  };
}

function readExpectations(problems: Problems, path: Path, value: unknown, words: Words): readonly Expectation[] {
  const fields = problems.fields(path, value, [...claims, "within", "for"]);
  const named = claims.filter((claim) => fields[claim] !== undefined);
  if (named.length === 0) problems.at(path, `must have at least one of ${claims.join(", ")}`);
  if (fields.within !== undefined && fields.for !== undefined) {
    problems.at([...path, "for"], "cannot be combined with within: a condition becomes true, or it stays true");
  }
  const within = problems.duration([...path, "within"], fields.within, 0);
  const during = problems.duration([...path, "for"], fields.for, 0);
  return named.map((claim) => ({
    claim,
    of: claimed(problems, path, claim, fields, words),
    within,
    for: during,
  }));
}

function claimed(problems: Problems, path: Path, claim: Claim, fields: Fields, words: Words): readonly string[] {
  const place = [...path, claim];
  const value = fields[claim];
  switch (claim) {
    case "leader":
      return namesOf(problems, place, value, [...words.boards, "any", "none", "same", "changed"], 1);
    case "term":
      if (typeof value === "number" && Number.isInteger(value) && value >= 0) return [String(value)];
      return namesOf(problems, place, value, ["same", "next"], 1);
    case "evicted":
    case "kept":
      return namesOf(problems, place, value, [...words.boards, ...words.zones, ...words.workloads, "all", "hit"]);
    case "rolled":
      return namesOf(problems, place, value, words.daemons);
    default:
      return namesOf(problems, place, value, [...words.boards, ...words.zones, "all", "leader", "hit"]);
  }
}

/** One name or a list of them, all of which must be among those allowed. */
function namesOf(
  problems: Problems,
  path: Path,
  value: unknown,
  allowed: readonly string[],
  most = Number.POSITIVE_INFINITY,
): readonly string[] {
  const names: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (names.length === 0 || names.length > most) {
    problems.at(path, most === 1 ? "must be one name" : "must have at least one name");
  }
  return names.filter((name): name is string => {
    if (typeof name === "string" && allowed.includes(name)) return true;
    problems.at(path, `names the unknown ${quoted(name)}; there are ${allowed.join(", ")}`);
    return false;
  });
}

import { dottedPath, predicateOf, read } from "../../../agent/base/schema.ts";
import { recordedCase, replayCase } from "../../../agent/judgement/recorded-case.ts";
import type { Case } from "../case.ts";
import type { ReplayFamily } from "../family.ts";
import type { JsonSchema } from "../form.ts";
import { MalformedCase } from "../malformed.ts";

const example = {
  id: "node/pi-3 2026-11-20T10:51:37.000Z",
  family: "decision",
  given: {
    act: "board-tainted",
    board: "pi-3",
    because: { kind: "silence", silentMs: 42_000, graceMs: 40_000, provenMs: 0 },
    gate: { policy: "evidence", ready: "Unknown", rate: 0.1, level: 1 },
  },
  expect: { ruling: "act", verdict: "unproven" },
};

const schema: JsonSchema = {
  ...recordedCase.json,
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "decision: a recorded decision",
  description: "What siteward why --export writes (docs/interfaces.md#decision-records). Such a case has no steps.",
  examples: [example],
};

/** Recorded decisions of real sites, as `siteward replay` decides them again. */
export const decision: ReplayFamily = {
  name: "decision",
  title: "a recorded decision",
  schema,
  async run({ id, family, given, config, steps }: Case) {
    if (Object.keys(config).length + steps.length > 0)
      throw new MalformedCase(["a decision has no config and no steps"]);
    const found = read(recordedCase, { id, family, given });
    if ("problem" in found)
      throw new MalformedCase([`case.${dottedPath(found.problem.path)} ${predicateOf(found.problem)}`]);
    return { ...replayCase(found.value).decision };
  },
};

import { predicateOf, read } from "../../../../agent/base/schema.ts";
import { type DecisionRecord, subjectText } from "../../../../agent/decisions/decision-record.ts";
import { caseOf, recordedCase, replayCase } from "../../../../agent/judgement/recorded-case.ts";
import type { Site } from "../site.ts";
import { recordsOf } from "./records.ts";

/**
 * After all agents have stopped: each record in the state.db of each board, exported as a case and decided again, gives
 * the decision that was recorded, with the same verdict by the same rule.
 */
export const checkReplays = ({ boards }: Site): readonly string[] =>
  boards.flatMap((board) =>
    recordsOf(board).flatMap((record) => {
      const problem = problemOf(record);
      const { act, on, state } = record;
      return problem === undefined
        ? []
        : [`replay: ${board.plate.name}: ${act} ${subjectText(on)} ${state}: ${problem}`];
    }),
  );

function problemOf(record: DecisionRecord): string | undefined {
  const exported = caseOf(record, { id: "of the simulation", note: "a record" });
  if (exported === undefined) return "its record cannot be exported";
  const found = read(recordedCase, JSON.parse(JSON.stringify(exported)));
  if ("problem" in found) return `its case is refused: ${found.problem.path.join(".")} ${predicateOf(found.problem)}`;
  const { because } = record;
  const facts = because.kind === "silence" ? because : because.kind === "taints" ? because.silence : undefined;
  const expect = { ...found.value.expect, ...(facts && { rule: facts.rule }) };
  const [difference] = replayCase({ ...found.value, expect }).differences;
  if (difference === undefined) return undefined;
  const { member, expected, found: again } = difference;
  return `${member} ${expected}, again ${again} by ${JSON.stringify(exported.given)}`;
}

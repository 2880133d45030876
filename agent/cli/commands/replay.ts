import { exit } from "../../base/exit-codes.ts";
import type { Run } from "../../base/io.ts";
import { recordIn } from "../../base/json.ts";
import { dottedPath, predicateOf, SchemaProblems } from "../../base/schema.ts";
import { readText } from "../../config/read-text.ts";
import { type RecordedCase, recordedCase, replayCase } from "../../judgement/recorded-case.ts";

/** Maximum number of problems of a file that are printed. */
const maxProblems = 10;

/** `siteward replay FILE`: re-evaluates a recorded decision, and compares the result with the recorded one. */
export const run: Run = async (io, { words }) => {
  const [file = ""] = words;
  const found = caseIn(file);
  if ("problems" in found) {
    for (const problem of found.problems) io.stderr.line(`siteward: replay: ${file}: ${problem}`);
    return exit.usage;
  }
  const { decision, differences } = replayCase(found);
  io.stdout.json(decision, 2);
  if (differences.length === 0) return exit.ok;
  io.stderr.line(`siteward: replay: ${file}: the decision differs from the expected one`);
  for (const { member, expected, found } of differences) {
    io.stderr.line(`  - ${member}: ${expected}`);
    io.stderr.line(`  + ${member}: ${found ?? "none"}`);
  }
  return exit.failed;
};

/** The case in a file, or the problems of the file as predicates. */
function caseIn(file: string): RecordedCase | { readonly problems: readonly string[] } {
  const source = readText(file);
  if ("problem" in source) return { problems: [source.problem] };
  const value = recordIn(source.text);
  if (value === undefined) return { problems: ["is not a JSON object, as siteward why --export writes it"] };
  const problems = new SchemaProblems(maxProblems);
  const found = recordedCase.read(value, problems);
  return found ?? { problems: problems.found.map((problem) => `${dottedPath(problem.path)} ${predicateOf(problem)}`) };
}

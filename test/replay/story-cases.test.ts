import { spawnSync } from "node:child_process";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { MalformedCase } from "./malformed.ts";
import { printOutcome } from "./outcome.ts";
import { replay } from "./replay.ts";

const caseText = (family: string, more: object): string => JSON.stringify({ id: "mine", family, ...more });

async function problemsOf(source: string): Promise<readonly string[]> {
  try {
    await replay(source, "-");
    return [];
  } catch (error) {
    if (error instanceof MalformedCase) return error.problems;
    throw error;
  }
}

const at = (atMs: number, word: string, more: object = {}): object => ({ atMs, event: { do: word, ...more } });

describe("a case with an impossible story is refused with a sentence", () => {
  test.each([
    ["TE", { steps: [at(0, "deletePod", { pod: "web" })] }, 'there is no pod "web" at that time'],
    [
      "TE",
      { given: { nodes: [{ name: "n", taints: ["a:Sometimes"] }] } },
      'given.nodes[0].taints[0] takes a taint such as a, a@T2 or unreachable:NoExecute, not "a:Sometimes"',
    ],
    [
      "TQ",
      {
        given: { limiter: "always" },
        steps: [at(0, "add", { name: "pi" }), at(0, "try", { results: { pi: { done: false, takesMs: 5 } } })],
      },
      "the turns of pi never come to an end",
    ],
    ["DF", { steps: [at(0, "page", { objects: ["a@1"] })] }, "page comes without a beginReplace in front of it"],
    ["DF", { steps: [at(0, "add", { object: "a" })] }, "takes a text such as foo@2, default/foo@2 or foo@2#second"],
    ["RL", { steps: [at(0, "end"), at(0, "stop"), at(1, "say", { events: [] })] }, "no watch is open at that time"],
    ["LE", { steps: [at(0, "stop", { candidate: "qux" })] }, 'there is no candidate "qux" in given.candidates'],
    [
      "LE",
      { given: { candidates: { qux: { startsAtMs: 5 } } }, steps: [at(1, "stop", { candidate: "qux" })] },
      "qux has not started yet; it starts at 5 ms",
    ],
    [
      "WQ",
      {
        config: {
          limiter: {
            kind: "maxOf",
            of: [
              { kind: "bucket", qps: 1, burst: 1 },
              { kind: "bucket", qps: 2, burst: 1 },
            ],
          },
        },
      },
      "takes one exponential limiter and one bucket, not two of a kind",
    ],
    ["WQ", { config: { limiter: { kind: "fastSlow" } } }, '"fastSlow"'],
  ])("%s %j", async (family, more, sentence) => {
    const problems = await problemsOf(caseText(family, more));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(sentence);
  });
});

test("the same case has the same outcome each time, to the letter", async () => {
  const source = caseText("LE", {
    config: { latencyMs: 7, jitter: 0.3 },
    given: { candidates: { baz: {}, qux: {}, foo: { startsAtMs: 3 } } },
    steps: [at(5000, "kill", { candidate: "baz" }), at(60_000, "look")],
  });
  const [first, second] = [await replay(source, "-"), await replay(source, "-")];
  expect(printOutcome(first.outcome)).toBe(printOutcome(second.outcome));
});

test("a schema that is longer than a pipe's buffer arrives whole", () => {
  const program = path.resolve(import.meta.dirname, "main.ts");
  const slowly = `"${process.execPath}" "${program}" --schema RL | (sleep 1; cat)`;
  const { stdout } = spawnSync("sh", ["-c", slowly], { encoding: "utf8" });
  expect(stdout.length).toBeGreaterThan(65_536);
  expect(JSON.parse(stdout)).toHaveProperty("$defs.outcome");
});

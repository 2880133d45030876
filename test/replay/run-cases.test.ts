import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { recordingIo } from "../support/recording-io.ts";
import { replayCases } from "./command.ts";
import { familyNames } from "./families.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "siteward-replay-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(name: string, content: object | string): string {
  const file = path.join(folder, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
}

const lost = (expected?: object) => ({ id: "lost", family: "ZS", given: { ready: ["U"] }, expect: expected });
const good = lost({ state: "FullDisruption" });
const wrong = lost({ state: "Normal", unhealthy: 1 });

async function replayed(argv: readonly string[], io = recordingIo()) {
  const code = await replayCases(io, argv);
  return { code, out: io.out(), err: io.err() };
}

test("several cases and folders are reported line by line, and the gravest result gives the exit code", async () => {
  const one = write("one.json", good);
  write("more/a.json", good);
  write("more/deep/b.json", wrong);
  write("more/notes.txt", "no case");
  const result = await replayed([one, path.join(folder, "more")]);
  expect(result).toMatchObject({ code: 1, err: "" });
  expect(result.out.replaceAll(folder, "")).toBe(
    [
      "ok       lost  /one.json",
      "ok       lost  /more/a.json",
      "DIFFERS  lost  /more/deep/b.json",
      "  state",
      '    expected  "Normal"',
      '    found     "FullDisruption"',
      "cases: 3, good: 2, different: 1, not understood: 0",
      "",
    ].join("\n"),
  );
  write("more/c.json", "{");
  expect(await replayed([folder])).toMatchObject({
    code: 64,
    out: expect.stringContaining("cases: 4, good: 2, different: 1, not understood: 1\n"),
    err: expect.stringMatching(/more\/c\.json: it is no JSON: /),
  });
});

test("--json prints one line per case", async () => {
  const files = [write("good.json", good), write("wrong.json", wrong), write("open.json", lost())];
  const { code, out } = await replayed(["--json", ...files]);
  expect(code).toBe(1);
  const lines = out.trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { id: "lost", family: "ZS", file: files[0], verdict: "ok", differences: [], outcome: { unhealthy: 1 } },
    { verdict: "differs", differences: [{ path: "state", expected: "Normal", found: "FullDisruption" }] },
    { verdict: "ran", differences: [] },
  ]);
});

test("differences are coloured on a terminal, unless NO_COLOR is set", async () => {
  const file = write("wrong.json", wrong);
  const terminal = await replayed([file], recordingIo({ isTTY: true }));
  expect(terminal.err).toContain('\u001b[32m    expected  "Normal"\u001b[0m');
  const plain = await replayed([file], recordingIo({ isTTY: true, env: { NO_COLOR: "1" } }));
  expect(plain.err).not.toContain("\u001b");
});

test.each([
  ["[]", "a case is a JSON object, not []"],
  [{ id: "x", family: "ZS", stepps: [] }, 'case has no field "stepps"; did you mean steps?'],
  [{ family: "ZS" }, 'case needs the field "id", or a file with a name such as HD-01-a-few-words.json'],
  [{ id: "x" }, 'case needs the field "family", or a file with a name such as HD-01-a-few-words.json'],
  [{ id: "x", family: "SZ" }, 'there is no family "SZ"; did you mean ZS?'],
  [{ id: "x", family: "ZS", given: { ready: ["T", "X"] } }, 'case.given.ready[1] takes "T", "F", "U", "-", not "X"'],
  [
    { id: "x", family: "HD", steps: [{ atMs: 5, event: { do: "lok" } }] },
    'case.steps[0].event.do is "lok"; did you mean look?',
  ],
  [{ id: "x", family: "HD", steps: [{ atMs: -1, event: {} }] }, "case.steps[0].atMs takes a number from 0"],
  [
    {
      id: "x",
      family: "HD",
      steps: [
        { atMs: 5, event: { do: "look" } },
        { atMs: 4, event: { do: "look" } },
      ],
    },
    "case.steps[1].atMs is 4, before the step that stands in front of it",
  ],
  [
    { id: "x", family: "HD", config: { evictionQps: 1 }, given: { zones: { "a b": "X" } } },
    'case.config has no field "evictionQps"; did you mean evictionQPS?',
  ],
  [
    { id: "x", family: "HD", steps: [{ atMs: 5, event: { do: "delete", node: "pi" } }] },
    'case.steps[0]: there is no node "pi" at that time',
  ],
  [{ id: "x", family: "TS", given: { nodes: [{ metadata: { name: "a/b" } }] } }, "Node a/b: has a slash in its name"],
  ["[".repeat(20_000) + "]".repeat(20_000), "it is nested more than 100 levels deep"],
  [`{"id":"x","family":"ZS","expect":${'{"a":'.repeat(200)}1${"}".repeat(201)}`, "nested more than 100 levels"],
  [{ ...good, id: "x\u001b[31m" }, "case.id takes a text of one line"],
  [{ id: "x", family: "NH", given: { nodes: [{ name: "pi" }, { name: "pi" }] } }, 'case.given.nodes has "pi" twice'],
  [{ id: "x", family: "NH", given: { pods: [{ name: "p" }, { metadata: { name: "p" } }] } }, 'has "default/p" twice'],
  [
    { id: "x", family: "NH", given: { nodes: [{ name: "pi", heartbeatMs: 1e300 }] } },
    "heartbeatMs takes a number from",
  ],
  [{ id: "x", family: "NH", config: { startTime: "+275760-09-13" } }, "case.config.startTime takes a time such as"],
  ['{"id":"x","family":"HD","steps":[{"atMs":1e999,"event":{}}]}', "not Infinity"],
  [{ ...good, expect: { unhealthy: { about: 1 } } }, "expect.unhealthy: a matcher with about and within"],
])("an invalid case is refused with a sentence: %j", async (content, problem) => {
  const result = await replayed([write("case.json", content)]);
  expect(result).toMatchObject({ code: 64, out: "" });
  expect(result.err).toContain(problem);
});

test("a folder without cases and a dangling link are reported", async () => {
  mkdirSync(path.join(folder, "empty"));
  symlinkSync("round.json", path.join(folder, "round.json"));
  for (const [name, problem] of [
    ["empty", "empty: holds no case (*.json)"],
    ["round.json", "round.json: cannot be read: ELOOP"],
  ]) {
    const result = await replayed([path.join(folder, name ?? "")]);
    expect(result.code).toBe(64);
    expect(result.err).toContain(problem);
  }
});

test("a file names its case, unless the case does so itself", async () => {
  const { id: _id, family: _family, ...nameless } = good;
  const [named, own] = [write("ZS-07b-a-lost-zone.json", nameless), write("HD-01-not-this-one.json", good)];
  const result = await replayed([named, own, write("ZS-7.json", nameless)]);
  expect(result.out.replaceAll(`${folder}/`, "")).toBe(
    "ok       ZS-07b  ZS-07b-a-lost-zone.json\n" +
      "ok       lost  HD-01-not-this-one.json\n" +
      "cases: 3, good: 2, different: 0, not understood: 1\n",
  );
  expect(result.err).toMatch(
    /ZS-7\.json: case needs the field "id", .*\n.*ZS-7\.json: case needs the field "family", /,
  );
});

test("all problems of a case are reported together", async () => {
  const content = { id: 7, family: "ZS", given: {}, config: [], extra: 1 };
  expect((await replayed([write("case.json", content)])).err.trimEnd().split("\n")).toHaveLength(3);
});

test("a missing file is reported in one sentence, and the other files still run", async () => {
  const result = await replayed([path.join(folder, "nowhere.json"), write("good.json", good)]);
  expect(result.code).toBe(64);
  expect(result.err).toMatch(/nowhere\.json: does not exist\n$/);
  expect(result.out).toContain("good: 1");
});

test("without a case, or in a folder without cases, the command says what to do", async () => {
  expect(await replayed([])).toMatchObject({ code: 64, err: expect.stringContaining("--schema") });
  expect((await replayed([folder])).code).toBe(64);
});

test("the schema of one family, of several or of all is printed", async () => {
  const { code, out } = await replayed(["--schema", "HD"]);
  expect(code).toBe(0);
  const schema = JSON.parse(out);
  expect(Object.keys(schema.properties)).toEqual(["id", "family", "note", "config", "given", "steps", "expect"]);
  expect(schema.properties.family).toEqual({ const: "HD" });
  const some = JSON.parse((await replayed(["--schema", "ZS", "LB"])).out);
  expect(Object.keys(some.$defs)).toEqual(["ZS", "LB", "repeat"]);
  const all = JSON.parse((await replayed(["--schema"])).out);
  expect(Object.keys(all.$defs)).toEqual([...familyNames, "repeat"]);
  expect(await replayed(["--schema", "HE"])).toMatchObject({ code: 64, out: "" });
});

test("every field that a schema names is explained", async () => {
  const silent: string[] = [];
  const look = (value: unknown, at: string): void => {
    if (typeof value !== "object" || value === null) return;
    const { properties, description, $ref, const: constant } = value as Readonly<Record<string, unknown>>;
    const isField = /\.properties\.\w+$/.test(at) && !at.includes("$defs");
    if (isField && description === undefined && $ref === undefined && constant === undefined) silent.push(at);
    for (const [name, one] of Object.entries(properties ?? {})) look(one, `${at}.properties.${name}`);
    for (const name of ["items", "additionalProperties", "anyOf", "oneOf"]) {
      const inner = (value as Readonly<Record<string, unknown>>)[name];
      for (const one of Array.isArray(inner) ? inner : [inner]) look(one, `${at}.${name}`);
    }
  };
  // Programs write recorded decisions; docs/interfaces.md#decision-records explains them.
  for (const name of familyNames.filter((family) => family !== "decision")) {
    look(JSON.parse((await replayed(["--schema", name])).out), name);
  }
  expect(silent).toEqual([]);
});

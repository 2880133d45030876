import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { recordingIo } from "../support/recording-io.ts";
import { namesIn } from "./case.ts";
import { replayCases } from "./command.ts";
import { familyNames, loadFamily } from "./families.ts";
import { replay } from "./replay.ts";

/** Every case is run as `npm run replay -- FILE` runs it. A case is written from the rules, never from an outcome. */

const root = path.resolve(import.meta.dirname, "../..");
const folder = path.join(root, "test/cases");
const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".json"))
  .sort();

interface Written {
  readonly id?: string;
  readonly family?: string;
  readonly note: string;
  readonly expect: object;
}

const read = (file: string): Written => JSON.parse(readFileSync(path.join(folder, file), "utf8"));

const families = [
  "ZS",
  "HD",
  "NH",
  "TN",
  "TS",
  "LB",
  "TE",
  "TQ",
  "DF",
  "RL",
  "LE",
  "WQ",
  "GC",
  "ER",
  "EP",
  "TT",
  "ES",
  "DN",
  "DP",
  "DU",
];

test.each(families)("family %s has cases", (family) => {
  expect(familyNames).toContain(family);
  expect(files.filter((file) => file.startsWith(`${family}/`)).length).toBeGreaterThan(5);
});

test("every case has a unique name, names its rule, and expects something", () => {
  expect(new Set(files.map((file) => namesIn(file)?.id)).size).toBe(files.length);
  for (const file of files) {
    const { id, family, note, expect: expected } = read(file);
    expect({ id, family }, `${file} repeats its name`).toEqual({});
    expect(namesIn(file)?.family, file).toBe(path.dirname(file));
    expect(path.basename(file), file).toMatch(/^[A-Z]{2}-\d+[a-z]*-[a-z0-9-]+\.json$/);
    expect(note, file).toMatch(/\S/);
    expect(Object.keys(expected).length, file).toBeGreaterThan(0);
  }
});

describe("a case", () => {
  test.each(files)("%s", async (file) => {
    const io = recordingIo();
    const code = await replayCases(io, [path.join(folder, file)]);
    expect(io.err()).toBe(`${namesIn(file)?.id} is as expected\n`);
    expect(code).toBe(0);
  });
});

test.each(familyNames)("the cases of %s fit its schema", async (name) => {
  const fits = new Ajv2020({ strict: false }).compile({ ...(await loadFamily(name)).schema });
  expect(files.filter((file) => file.startsWith(`${name}/`) && !fits(read(file)))).toEqual([]);
});

test.each(familyNames)("the examples in the schema of %s hold", async (name) => {
  const { schema } = await loadFamily(name);
  const examples = schema.examples as readonly object[];
  expect(examples.length).toBeGreaterThan(0);
  for (const example of examples) expect((await replay(JSON.stringify(example), "-")).differences).toEqual([]);
});

test("the command returns exit codes, the outcome on stdout, and explanations on stderr", () => {
  const replayed = (argv: readonly string[], input = "") => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [path.join(root, "test/replay/main.ts"), ...argv], {
      input,
      encoding: "utf8",
      env: { PATH: process.env.PATH ?? "" },
    });
    return { status, stdout, stderr };
  };
  const source = { id: "mine", family: "ZS", given: { ready: ["U", "T"] } };
  const caseText = (more: object): string => JSON.stringify({ ...source, ...more });

  const plain = replayed(["-"], caseText({}));
  expect(plain).toMatchObject({ status: 0, stderr: "" });
  expect(JSON.parse(plain.stdout)).toEqual({ state: "Normal", unhealthy: 1, size: 2, qps: 0.1 });

  expect(replayed(["-"], caseText({ expect: { unhealthy: 1 } }))).toEqual({
    status: 0,
    stdout: plain.stdout,
    stderr: "mine is as expected\n",
  });
  expect(replayed(["-"], caseText({ expect: { unhealthy: 2 } }))).toEqual({
    status: 1,
    stdout: plain.stdout,
    stderr: "mine (standard input) differs:\n  unhealthy\n    expected  2\n    found     1\n",
  });
  expect(replayed(["-"], caseText({ given: { reday: [] } }))).toEqual({
    status: 64,
    stdout: "",
    stderr:
      'standard input: case.given needs the field "ready"\n' +
      'standard input: case.given has no field "reday"; did you mean ready?\n',
  });
});

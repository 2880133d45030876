import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { profileSchema } from "../../../agent/board/profile/profile-schema.ts";
import { loadConfig, variableOf } from "../../../agent/config/load.ts";
import { example, fileSchema, markdown, printSchema } from "../../../agent/config/reference.ts";
import { settings } from "../../../agent/config/settings.ts";
import { settingsIn } from "../../../agent/config/values.ts";

const root = path.resolve(import.meta.dirname, "../../..");
const folder = mkdtempSync(path.join(tmpdir(), "siteward-reference-"));
afterAll(() => rmSync(folder, { recursive: true }));

const load = (file: string | undefined) => loadConfig({ file, env: {}, hostname: "pi-3", profile: undefined });

test("systemd/siteward.example.yaml is the output of `siteward config example`", () => {
  expect(readFileSync(path.join(root, "systemd/siteward.example.yaml"), "utf8")).toBe(example());
});

test("firmware-profiles/profile.schema.json is the output of `siteward config schema --profile`", () => {
  const kept = readFileSync(path.join(root, "firmware-profiles/profile.schema.json"), "utf8");
  expect(kept).toBe(printSchema(profileSchema()));
});

test("the example does not change any setting, as it is or with every default uncommented", () => {
  const file = path.join(folder, "example.yaml");
  writeFileSync(file, example());
  expect(load(file).config).toEqual(load(undefined).config);

  const spelledOut = example().replace(/^( *)# ([a-zA-Z]+: \S.*)$/gm, (line, indent, setting) =>
    /^[a-z][A-Za-z]*: ([\w./-]+|\d+( [\d*]+){4})$/.test(setting) ? `${indent}${setting}` : line,
  );
  writeFileSync(file, spelledOut);
  const { config, origins } = load(file);
  expect(config).toEqual(load(undefined).config);
  const written = [...origins].filter(([, origin]) => origin.startsWith(file)).map(([path]) => path);
  const withDefault = [...settingsIn(settings)].filter(({ setting }) => setting.show(setting.default) !== "");
  expect(written.sort()).toEqual(withDefault.map(({ path }) => path).sort());
});

test("the example's lines fit on a screen", () => {
  expect(
    example()
      .split("\n")
      .filter((line) => line.length > 104),
  ).toEqual([]);
});

test("the reference names every setting with its default and its sentence", () => {
  const text = markdown();
  for (const { path, setting } of settingsIn(settings)) {
    const row = text.split("\n").find((line) => line.startsWith(`| ${path} |`));
    expect(row, path).toContain(setting.sentence.replaceAll("|", "\\|"));
    expect(row).toContain(setting.show(setting.default));
  }
});

test("the schema accepts the same values as the program", () => {
  const schema = JSON.parse(printSchema(fileSchema()));
  expect(schema.required).toEqual(["apiVersion", "kind"]);
  const { gracePeriod, largeZone } = schema.properties.nodeLifecycle.properties;
  expect(gracePeriod).toMatchObject({ type: "string", default: "50s" });
  expect(new RegExp(gracePeriod.pattern).test("1h30m")).toBe(true);
  expect(new RegExp(gracePeriod.pattern).test("40")).toBe(false);
  expect(largeZone).toMatchObject({ type: "integer", minimum: 0, default: 50 });
  expect(schema.properties.judgement.properties.policy.enum).toEqual(["evidence", "kubernetes"]);
});

test("each setting can also be given as a variable, in the form in which it is shown", () => {
  const shown = [...settingsIn(settings)].flatMap(({ path, setting }) => {
    const text = setting.show(setting.default);
    return text === "" ? [] : [[variableOf(path), text] as const];
  });
  const { config, origins } = loadConfig({
    file: undefined,
    env: Object.fromEntries(shown),
    hostname: "pi-3",
    profile: undefined,
  });
  expect(config).toEqual(load(undefined).config);
  expect([...origins.values()].filter((origin) => origin.startsWith("SITEWARD_"))).toHaveLength(shown.length);
});

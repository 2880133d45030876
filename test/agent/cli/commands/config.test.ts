import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { dispatch } from "../../../../agent/cli/dispatch.ts";
import { markdown } from "../../../../agent/config/reference.ts";
import { recordingIo } from "../../../support/recording-io.ts";

const home = path.resolve(import.meta.dirname, "../../../..");
let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "siteward-cli-"));
  file = path.join(folder, "siteward.yaml");
});
afterEach(() => rmSync(folder, { recursive: true }));

const write = (body: string): void =>
  writeFileSync(file, `apiVersion: siteward.dev/v1\nkind: AgentConfiguration\n${body}`);

async function siteward(...argv: string[]) {
  const io = recordingIo({ home, env: { SITEWARD_LOG_LEVEL: "warn" } });
  const code = await dispatch(io, argv);
  return { code, out: io.out(), err: io.err() };
}

test("the output of config show is an equivalent configuration", async () => {
  write(
    "nodeLifecycle: {gracePeriod: 90s}\nsite: {nodeSelector: 'region in (east, west)'}\napi: {proxy: 'http://p:1'}\n",
  );
  const first = await siteward("config", "show", "--config", file);
  expect(first).toMatchObject({ code: 0, err: "" });
  expect(first.out).toContain("  gracePeriod: 90s\n");
  writeFileSync(file, first.out);
  expect((await siteward("config", "show", "--config", file)).out).toBe(first.out);
});

test("with --origin each value names its origin, and the output is still YAML", async () => {
  write("nodeLifecycle:\n  gracePeriod: 40s\n");
  const { out } = await siteward("config", "show", "--origin", "--config", file);
  expect(out).toMatch(new RegExp(`^  gracePeriod: 40s +# ${file}:4$`, "m"));
  expect(out).toMatch(/^ {2}level: warn +# SITEWARD_LOG_LEVEL$/m);
  expect(out).toMatch(/^ {2}name: pi-3 +# host name$/m);
  writeFileSync(file, out);
  expect((await siteward("config", "check", file)).code).toBe(0);
});

test("programs get values and origins as JSON", async () => {
  write("cache: {pageSize: 7}\n");
  const { settings, files } = JSON.parse((await siteward("config", "show", "--json", "-c", file)).out);
  expect(settings["cache.pageSize"]).toEqual({ value: 7, origin: `${file}:3` });
  expect(settings["nodeLifecycle.gracePeriod"]).toEqual({ value: "50s", origin: "default" });
  expect(settings["api.kubeconfig"]).toEqual({ value: null, origin: "default" });
  expect(files).toEqual([file]);
});

test("an unusable configuration exits with 78, and every problem has a line of its own", async () => {
  write("log: {level: loud}\nlink: {blipp: 1s}\n");
  const checked = await siteward("config", "check", file);
  expect(checked.code).toBe(78);
  expect(checked.err.replaceAll(file, "FILE").split("\n")).toEqual([
    'siteward: FILE:3: log.level cannot be "loud"; it takes one of error, warn, info, debug',
    "siteward: FILE:4: link.blipp is not a setting; did you mean link.blip?",
    "",
  ]);
  expect((await siteward("config", "show", "--config", file)).code).toBe(78);
});

test("a valid file is reported as valid", async () => {
  write("log: {level: debug}\n");
  expect(await siteward("config", "check", file)).toEqual({ code: 0, out: `${file} is valid\n`, err: "" });
});

test("a setting is explained with value, origin, default, bounds and variable", async () => {
  write("nodeLifecycle:\n  gracePeriod: 40s\n");
  const { out } = await siteward("config", "explain", "nodeLifecycle.gracePeriod", "--config", file);
  expect(out.split("\n").map((line) => line.replace(/ {2,}/g, " ").trim())).toEqual([
    "nodeLifecycle.gracePeriod: 40s",
    "How long a board may stay silent before it counts as lost.",
    `set by ${file}:4`,
    "default 50s",
    "accepts a duration such as 50s, from 1s to 1d",
    "variable SITEWARD_NODE_LIFECYCLE_GRACE_PERIOD",
    "",
  ]);
});

test("a section is explained with all its settings", async () => {
  write("");
  const { code, out } = await siteward("config", "explain", "leader", "--config", file);
  expect(code).toBe(0);
  expect(out.match(/leader\.\w+/g)).toEqual([
    "leader.namespace",
    "leader.otherNamespaces",
    "leader.duration",
    "leader.renewDeadline",
    "leader.retry",
    "leader.sickFor",
    "leader.followers",
  ]);
});

test.each([
  ["nodeLifecycle.gracePeroid", "did you mean nodeLifecycle.gracePeriod?"],
  ["leader.constructor", "is neither a setting nor a section"],
  ["", "is neither a setting nor a section"],
])("explaining %j suggests the intended setting", async (setting, said) => {
  const { code, err } = await siteward("config", "explain", setting);
  expect(code).toBe(64);
  expect(err).toContain(said);
});

test("reference, schemas and example are printed as generated", async () => {
  expect((await siteward("config", "reference")).out).toBe(markdown());
  expect(JSON.parse((await siteward("config", "schema")).out).properties.kind).toEqual({ const: "AgentConfiguration" });
  expect(JSON.parse((await siteward("config", "schema", "--profile")).out).properties.schema).toEqual({
    const: "siteward.profile/1",
  });
  writeFileSync(file, (await siteward("config", "example")).out);
  expect((await siteward("config", "check", file)).code).toBe(0);
});

import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ConfigError } from "../../../../../agent/base/errors.ts";
import { upOptions } from "../../../../../agent/cli/commands/up/up-options.ts";
import { commands } from "../../../../../agent/cli/commands.ts";
import { shippedScenarios } from "../../../../../simulator/scenarios/shipped.ts";
import { writeKubeconfig } from "../../../../../simulator/site-files.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), "siteward-test-"));
});

afterEach(() => rmSync(folder, { recursive: true }));

const given = (values: Readonly<Record<string, string>>) =>
  upOptions({ flags: new Set(), values: new Map(Object.entries(values)), words: [] });

function problemsOf(values: Readonly<Record<string, string>>): readonly string[] {
  try {
    given(values);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

function written(text: string): string {
  const file = path.join(folder, "story.yaml");
  writeFileSync(file, text);
  return file;
}

test("without options the site has three boards in two zones and some pods, and runs until Ctrl-C", () => {
  expect(given({})).toMatchObject({
    scenario: { boards: 3, zones: 2, workloads: [{ name: "web", replicas: 6 }] },
    isStory: false,
    duration: undefined,
    port: 6440,
  });
});

test("all problems of the options are reported together", () => {
  expect(problemsOf({ boards: "0", zones: "x", port: "70000", for: "soon" })).toEqual([
    '--boards takes a number from 1 to 250, not "0"',
    '--zones takes a number from 1 to 26, not "x"',
    '--port takes a number from 0 to 65535, not "70000"',
    '--for takes a time such as 5m, not "soon"',
  ]);
});

test("--for is refused if no clock can show its end", () => {
  expect(problemsOf({ for: "99000000d" })).toEqual([]);
  expect(problemsOf({ for: "99999999999d" })).toEqual(['--for takes at most 99000000d, not "99999999999d"']);
});

test("an unknown scenario is refused with the names of those that ship", () => {
  expect(problemsOf({ scenario: "board-outag" })[0]).toMatch(/does not exist; .*: board-outage, zone-outage/);
});

test("a scenario's configuration of the agents is checked before anything starts, with line numbers", () => {
  const file = written("config:\n  leader:\n    duraton: 6s\n");
  expect(problemsOf({ scenario: file })).toEqual([
    `${file}:3: leader.duraton is not a setting; did you mean leader.duration?`,
  ]);
  const impossible = written("config:\n  nodeLifecycle:\n    gracePeriod: 1s\n");
  expect(problemsOf({ scenario: impossible })[0]).toMatch(/:3: nodeLifecycle\.gracePeriod: 1s must be longer/);
  const both = written("config:\n  log: { level: loud }\n  nodeLifecycle: { gracePeriod: 1s }\n");
  expect(problemsOf({ scenario: both })).toEqual([
    expect.stringContaining(":2: log.level cannot be"),
    expect.stringContaining(":3: nodeLifecycle.gracePeriod: 1s must be longer"),
  ]);
});

test("problems of the story and of the agents' configuration are reported together", () => {
  const file = written("bords: 3\nconfig:\n  leader: { duraton: 6s }\n");
  expect(problemsOf({ scenario: file })).toEqual([
    `${file}:1: bords: is unknown; did you mean boards?`,
    `${file}:3: leader.duraton is not a setting; did you mean leader.duration?`,
  ]);
  const listed = written("config: [leader]\n");
  expect(problemsOf({ scenario: listed })).toHaveLength(1);
});

test("the help and the completion name exactly the scenarios that ship", () => {
  const option = commands.find(({ name }) => name === "up")?.options.find(({ name }) => name === "scenario");
  expect(option?.known).toEqual([...shippedScenarios.keys()]);
});

test("siteward up overwrites its own old kubeconfig, but not another program's", () => {
  const theirs = path.join(folder, "config");
  writeFileSync(theirs, "apiVersion: v1\nkind: Config\ncurrent-context: production\n");
  expect(problemsOf({ kubeconfig: theirs })[0]).toMatch(/exists and was not written by siteward up/);
  expect(problemsOf({ kubeconfig: folder })[0]).toMatch(/exists and was not written by siteward up/);
  const ours = path.join(folder, "ours");
  writeKubeconfig(ours, 1234);
  expect(given({ kubeconfig: ours }).kubeconfig).toBe(ours);
});

test("a mistyped kubeconfig path does not create a folder; paths in the site's folder may be created", () => {
  const mistyped = path.join(folder, "nope", "x");
  expect(problemsOf({ kubeconfig: mistyped })).toEqual([
    `--kubeconfig: the folder ${path.dirname(mistyped)} does not exist`,
  ]);
  expect(problemsOf({ kubeconfig: mistyped, dir: path.join(folder, "no") })).toHaveLength(1);
  expect(problemsOf({ kubeconfig: mistyped, dir: path.join(folder, "nope") })).toEqual([]);
  expect(problemsOf({ kubeconfig: path.join(folder, "x") })).toEqual([]);
  expect(existsSync(path.dirname(mistyped))).toBe(false);
});

import { fstatSync } from "node:fs";
import { expect, test } from "vitest";
import { FieldLogger } from "../../../agent/base/logger.ts";
import { loadConfig } from "../../../agent/config/load.ts";
import type { Config } from "../../../agent/config/settings.ts";
import { formatOf, ProcessLog } from "../../../agent/process/process-log.ts";
import { recordingIo } from "../../support/recording-io.ts";

const config = (log: Partial<Config["log"]>): Config => {
  const loaded = loadConfig({ file: undefined, env: {}, hostname: "pi-1", profile: undefined }).config;
  return { ...loaded, log: { ...loaded.log, ...log } };
};

const { dev, ino } = fstatSync(1);
const ours = `${dev}:${ino}`;

test.each([
  ["readable lines for a person", { isTTY: true }, "auto", "text"],
  ["JSON for a file", {}, "auto", "json"],
  ["journal entries, if the output goes there", { env: { JOURNAL_STREAM: ours } }, "auto", "journal"],
  ["JSON, if only the parent process writes to the journal", { env: { JOURNAL_STREAM: "1:2" } }, "auto", "json"],
  [
    "readable lines, if a person's session writes to the journal",
    { isTTY: true, env: { JOURNAL_STREAM: ours } },
    "auto",
    "text",
  ],
  ["the format that is configured", { env: { JOURNAL_STREAM: ours } }, "json", "json"],
] as const)("the log is written as %s", (_, surroundings, format, expected) => {
  expect(formatOf(recordingIo(surroundings), config({ format }))).toBe(expected);
});

test("the log's level can be changed while the program runs, and its format with a new configuration", () => {
  const io = recordingIo();
  const process = new ProcessLog(io, config({ format: "text", level: "info" }));
  const log = new FieldLogger(process).child({ resource: "pods" });
  log.debug("before");
  process.override("debug");
  log.debug("turned");
  process.override(undefined);
  log.debug("as configured");
  process.configure(config({ format: "json", level: "debug" }));
  log.debug("configured anew");
  const [first, second, ...more] = io.out().trimEnd().split("\n");
  expect(first).toMatch(/debug turned resource=pods$/);
  expect(JSON.parse(second ?? "")).toMatchObject({ message: "configured anew", resource: "pods", board: "pi-1" });
  expect(more).toEqual([]);
});

test("one controller or resource can log more, while the rest remains as configured", () => {
  const io = recordingIo();
  const process = new ProcessLog(io, config({ format: "text", level: "info" }));
  const log = new FieldLogger(process);
  const [pods, gc] = [log.child({ resource: "pods" }), log.child({ controller: "pod-gc" })];
  process.override("debug", "pod-gc");
  for (const each of [log, pods, gc]) each.debug("looked");
  process.override("error", "pods");
  for (const each of [log, pods, gc]) each.info("found");
  expect(io.out().match(/(looked|found).*/g)).toEqual(["looked controller=pod-gc", "found", "found controller=pod-gc"]);
});

test("without a journal socket each line begins with its priority", () => {
  const io = recordingIo({ env: { JOURNAL_STREAM: ours } });
  new FieldLogger(new ProcessLog(io, config({}))).warn("low memory", { leftMiB: 3 });
  expect(io.out()).toBe("<4>low memory leftMiB=3\n");
});

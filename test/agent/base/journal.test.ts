import { expect, test } from "vitest";
import { fieldName, JournalLogger, journalEntry } from "../../../agent/base/journal.ts";
import type { LogLevel } from "../../../agent/base/logger.ts";

/** Reads an entry as the journal does (systemd.io/JOURNAL_NATIVE_PROTOCOL). */
function read(entry: Uint8Array): Record<string, string> {
  const bytes = Buffer.from(entry);
  const fields: Record<string, string> = {};
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf("\n", at);
    const line = bytes.subarray(at, end).toString();
    const equals = line.indexOf("=");
    if (equals >= 0) {
      fields[line.slice(0, equals)] = line.slice(equals + 1);
      at = end + 1;
    } else {
      const length = Number(bytes.readBigUInt64LE(end + 1));
      fields[line] = bytes.subarray(end + 9, end + 9 + length).toString();
      expect(bytes[end + 9 + length]).toBe(10);
      at = end + 10 + length;
    }
  }
  return fields;
}

test("an entry carries the message with all fields, its priority, and each field by itself", () => {
  const entry = journalEntry("siteward", "warn", "zone disrupted", {
    zone: "a b",
    readyBoards: 1,
    error: new Error("no link"),
  });
  expect(read(entry)).toEqual({
    MESSAGE: 'zone disrupted zone="a b" readyBoards=1 error="no link"',
    PRIORITY: "4",
    SYSLOG_IDENTIFIER: "siteward",
    SITEWARD_ZONE: "a b",
    SITEWARD_READY_BOARDS: "1",
    SITEWARD_ERROR: "no link",
  });
});

test("multi-line values arrive whole, and no value can pose as another field", () => {
  const fields = read(
    journalEntry("siteward", "error", "failed", { stack: "Error\n  at a\nPRIORITY=0", none: undefined, list: [1] }),
  );
  expect(fields).toMatchObject({ PRIORITY: "3", SITEWARD_STACK: "Error\n  at a\nPRIORITY=0", SITEWARD_LIST: "[1]" });
  expect(Object.keys(fields)).not.toContain("SITEWARD_NONE");
});

test("a value that does not fit into a datagram is truncated", () => {
  const entry = journalEntry("siteward", "info", "long", { text: "x".repeat(1_000_000) });
  expect(entry.length).toBeLessThan(40_000);
});

test.each([
  ["term", "SITEWARD_TERM"],
  ["waitedMs", "SITEWARD_WAITED_MS"],
  ["io.kubernetes/node-name", "SITEWARD_IO_KUBERNETES_NODE_NAME"],
  ["x".repeat(100), `SITEWARD_${"X".repeat(55)}`],
])("%s becomes the field %s", (name, expected) => {
  expect(fieldName(name)).toBe(expected);
});

test("without a journal, a line with its priority goes to the stream", () => {
  const lines: string[] = [];
  let isTaken = true;
  let level: LogLevel = "info";
  const log = new JournalLogger({
    get level() {
      return level;
    },
    identifier: "siteward",
    send: () => isTaken,
    write: (line) => lines.push(line),
  });
  log.info("taken");
  isTaken = false;
  log.child({ resource: "pods" }).warn("not taken\nat all", { why: "busy" });
  log.debug("below the level");
  level = "debug";
  log.debug("no more");
  expect(lines).toEqual(["<4>not taken at all resource=pods why=busy", "<7>no more"]);
});

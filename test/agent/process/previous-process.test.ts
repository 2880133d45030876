import { expect, test } from "vitest";
import { previousProcess } from "../../../agent/process/previous-process.ts";
import { snapshot } from "../../../agent/status/snapshot.ts";
import { healthy } from "../../support/site-status.ts";

const status = (changes: Parameters<typeof healthy>[0] = {}): string =>
  JSON.stringify(snapshot(healthy(changes), undefined));
const { process } = healthy();

test.each([
  [
    "it was stopped, and reported that",
    status({ process: { ...process, ending: { cause: "stop" } } }),
    { cause: "stop" },
  ],
  ["it was killed, and had no time to report its end", status(), { cause: "unclean" }],
  [
    "it was stuck, and the watchdog ended it after it had named the loop",
    status({
      problems: [
        { type: "LoopStuck", subject: "pod-gc", severity: "critical", message: "pod-gc has made no progress" },
      ],
    }),
    { cause: "watchdog", message: "pod-gc has made no progress" },
  ],
])("the report about the previous process: %s", (_, left, expected) => {
  expect(previousProcess(left, "boot-1")).toMatchObject({ version: "0.4.1", ending: expected });
});

test.each([
  ["no status was left", undefined, "boot-1"],
  ["it is of an earlier boot", status(), "boot-2"],
  ["it cannot be read", "{", "boot-1"],
])("no previous process is reported if %s", (_, left, boot) => {
  expect(previousProcess(left, boot)).toBeUndefined();
});

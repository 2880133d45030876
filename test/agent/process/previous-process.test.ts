import { expect, test } from "vitest";
import { previousProcess } from "../../../agent/process/previous-process.ts";
import { snapshot } from "../../../agent/status/snapshot.ts";
import { healthy } from "../../support/site-status.ts";

const status = (changes: Parameters<typeof healthy>[0] = {}): string =>
  JSON.stringify(snapshot(healthy(changes), undefined));
const { process } = healthy();

test.each([
  [
    "one that was told to stop said so",
    status({ process: { ...process, ending: { cause: "stop" } } }),
    { cause: "stop" },
  ],
  ["one that was killed had no time to say anything", status(), { cause: "unclean" }],
  [
    "one that stood still was ended by the watchdog, and had told which loop",
    status({
      problems: [{ type: "LoopStuck", subject: "pod-gc", severity: "critical", message: "pod-gc has not moved" }],
    }),
    { cause: "watchdog", message: "pod-gc has not moved" },
  ],
])("of the former process: %s", (_, left, expected) => {
  expect(previousProcess(left, "boot-1")).toMatchObject({ version: "0.4.1", ending: expected });
});

test.each([
  ["no status was left", undefined, "boot-1"],
  ["it is of an earlier boot", status(), "boot-2"],
  ["it cannot be read", "{", "boot-1"],
])("nothing is said of a former process where %s", (_, left, boot) => {
  expect(previousProcess(left, boot)).toBeUndefined();
});

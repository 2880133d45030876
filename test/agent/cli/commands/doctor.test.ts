import path from "node:path";
import { expect, test } from "vitest";
import { Interrupted } from "../../../../agent/base/io.ts";
import { dispatch } from "../../../../agent/cli/dispatch.ts";
import { checkIds } from "../../../../agent/doctor/examination.ts";
import { summaryLine } from "../../../../agent/doctor/report.ts";
import { recordingIo } from "../../../support/recording-io.ts";

async function doctor(argv: readonly string[], signal = new AbortController().signal) {
  const io = recordingIo({ home: path.resolve(import.meta.dirname, "../../../.."), env: {} });
  const code = await dispatch({ ...io, signal }, ["doctor", ...argv]);
  return { code, out: io.out(), err: io.err() };
}

test("an unknown check is refused with the nearest name, or with the list of all checks", async () => {
  const { code, err } = await doctor(["--only", "config.prase"]);
  expect(code).toBe(64);
  expect(err).toContain('there is no check "config.prase"; did you mean config.parse?');
  expect((await doctor(["--only", "weather"])).err).toContain(`the checks are: ${checkIds.join(", ")}`);
});

test("the last line counts the checks", () => {
  const finding = { id: "clock.sync", level: "ok", message: "" } as const;
  expect(summaryLine([finding])).toBe("1 check: no faults found");
  expect(summaryLine([finding, { ...finding, level: "fail" }])).toBe("2 checks: 1 failed, 0 with a warning");
});

test("an interrupt skips the checks that have not finished, and the exit code shows that", async () => {
  const { code, out } = await doctor(["--only", "lease.conflict"], AbortSignal.abort(new Interrupted("SIGINT")));
  expect(out).toContain("[skip] lease.conflict  interrupted\n1 check: no faults found, 1 skipped\n");
  expect(code).toBe(130);
});

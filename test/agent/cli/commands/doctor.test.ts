import path from "node:path";
import { expect, test } from "vitest";
import { dispatch } from "../../../../agent/cli/dispatch.ts";
import { checkIds } from "../../../../agent/doctor/examination.ts";
import { recordingIo } from "../../../support/recording-io.ts";

async function doctor(...argv: readonly string[]) {
  const io = recordingIo({ home: path.resolve(import.meta.dirname, "../../../.."), env: {} });
  const code = await dispatch(io, ["doctor", ...argv]);
  return { code, err: io.err() };
}

test("a check that there is not is refused with the one that was meant, or with all that there are", async () => {
  const { code, err } = await doctor("--only", "config.prase");
  expect(code).toBe(64);
  expect(err).toContain('there is no check "config.prase"; did you mean config.parse?');
  expect((await doctor("--only", "weather")).err).toContain(`there are: ${checkIds.join(", ")}`);
});

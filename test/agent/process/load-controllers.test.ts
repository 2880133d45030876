import { afterEach, expect, test, vi } from "vitest";
import { dispositionOf, hintOf, sentenceOf } from "../../../agent/base/errors.ts";
import { loadControllers } from "../../../agent/process/load-controllers.ts";

afterEach(() => vi.doUnmock("../../../agent/leading/control-loops.ts"));

test("controllers that were replaced or damaged on disk end the process, with a hint for either case", async () => {
  vi.doMock("../../../agent/leading/control-loops.ts", () => {
    throw new SyntaxError("Invalid or unexpected token");
  });
  const error: unknown = await loadControllers().catch((error: unknown) => error);
  expect(dispositionOf(error)).toBe("exit");
  expect(sentenceOf(error)).toContain("the controllers cannot be loaded");
  expect(hintOf(error)).toMatch(/^Restart the service, .* reinstall the package\.$/);
});

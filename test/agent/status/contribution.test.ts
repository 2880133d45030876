import { expect, test } from "vitest";
import { withContributions } from "../../../agent/status/contribution.ts";
import { healthy } from "../../support/site-status.ts";

test("a companion completes the agent's parts and adds its problems", () => {
  const problem = (type: string) => ({ type, severity: "warning", message: type }) as const;
  const whole = withContributions(healthy({ problems: [problem("A")] }), [
    { board: { tempC: 61.2 }, journal: { persistence: "volatile" }, problems: [problem("B")] },
    { board: { loadavg1: 0.4 }, clock: { state: "synced" }, memory: { softBytes: 1 }, problems: [problem("C")] },
    {},
  ]);
  expect(whole.board).toMatchObject({ model: "Raspberry Pi 4 Model B Rev 1.5", tempC: 61.2, loadavg1: 0.4 });
  expect(whole.journal).toMatchObject({ depth: 3, persistence: "volatile" });
  expect(whole.memory).toMatchObject({ rssBytes: 74_448_896, softBytes: 1 });
  expect(whole.clock).toEqual({ state: "synced" });
  expect(whole.problems?.map(({ type }) => type)).toEqual(["A", "B", "C"]);
});

test("a part that the agent does not contribute is not made up from one of its members", () => {
  const { journal: _, ...rest } = healthy();
  expect(withContributions(rest, [{ journal: { persistence: "volatile" } }]).journal).toBeUndefined();
});

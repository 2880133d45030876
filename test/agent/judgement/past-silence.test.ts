import { expect, test } from "vitest";
import { hasContinued, silenceOf } from "../../../agent/judgement/past-silence.ts";

const at = (mono: number) => ({ mono, wall: 0 });
const health = { uid: "u", probe: at(60), lease: "7", answered: undefined, ready: { heartbeat: "h" } };

test.each([
  ["shows the same last sign of life", {}, true],
  ["shows it in an answer of the API as well", { answered: { lease: "7" } }, true],
  ["has another uid", { uid: "v" }, false],
  ["has renewed its Lease", { lease: "8" }, false],
  ["has renewed its Lease, which the cache does not show yet", { answered: { lease: "8" } }, false],
  ["has lost its Lease", { lease: undefined }, false],
  ["has reported its status", { ready: { heartbeat: "i" } }, false],
  ["has lost its Ready condition", { ready: undefined }, false],
] as const)("the silence of a board goes on, or ends, where it %s", (_what, seen, expected) => {
  expect(hasContinued(silenceOf(health), { ...health, probe: at(90), ...seen })).toBe(expected);
});

test("a silence that an earlier term saw keeps its beginning through further terms", () => {
  expect(silenceOf(health).since).toEqual(at(60));
  expect(silenceOf({ ...health, silentFrom: at(10) }).since).toEqual(at(10));
});

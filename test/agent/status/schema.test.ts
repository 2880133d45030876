import { expect, test } from "vitest";
import { readStatus } from "../../../agent/status/schema.ts";
import { snapshot } from "../../../agent/status/snapshot.ts";
import { healthy } from "../../support/site-status.ts";

const good = JSON.parse(JSON.stringify(snapshot(healthy(), undefined)));

test("members of a newer version are ignored", () => {
  const newer = { ...good, moon: { phase: 3 }, leader: { ...good.leader, mood: "good" } };
  expect(readStatus(JSON.stringify(newer))).toEqual(newer);
});

test.each([
  ["half a file", JSON.stringify(good).slice(0, 100), /^it is not JSON/],
  ["nothing", "", /^it is not JSON/],
  ["another document", "[]", /^it names no schema/],
  ["a later schema", JSON.stringify({ ...good, schema: "siteward.status/2" }), /its schema is "siteward\.status\/2"/],
  ["a wrong pid", JSON.stringify({ ...good, pid: "512" }), /^status\.pid is not a number/],
  [
    "a zone without boards",
    JSON.stringify({ ...good, zones: [{ name: "a", state: "Normal" }] }),
    /^status\.zones\[0\]\.nodes/,
  ],
  ["a leader that is text", JSON.stringify({ ...good, leader: "me" }), /^status\.leader is not an object/],
  [
    "conditions of a wrong shape",
    JSON.stringify({ ...good, health: { ...good.health, conditions: {} } }),
    /is not a list/,
  ],
])("%s is refused with a message", (_, source, problem) => {
  expect(readStatus(source)).toMatch(problem);
});

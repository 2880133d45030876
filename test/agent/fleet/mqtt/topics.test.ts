import { expect, test } from "vitest";
import {
  allowedResponseTopic,
  boardTopic,
  filtersOf,
  isName,
  parseCommandTopic,
  resultTopic,
  siteTopic,
} from "../../../../agent/fleet/mqtt/topics.ts";

const me = { fleet: "acme", site: "plant7", board: "pi-1" };

test("every topic has the same depth, regardless of its owner", () => {
  expect(boardTopic(me, "status")).toBe("sw1/acme/plant7/pi-1/status");
  expect(siteTopic(me, "status")).toBe("sw1/acme/plant7/_site/status");
  expect(Object.values(filtersOf(me))).toEqual([
    "sw1/acme/plant7/pi-1/cmd/#",
    "sw1/acme/plant7/pi-1/config/desired",
    "sw1/acme/_all/cmd/#",
    "sw1/acme/plant7/_site/cmd/#",
  ]);
});

test.each([
  ["sw1/acme/plant7/pi-1/cmd/ping/01JCZK6QK2", { scope: "board", name: "ping", id: "01JCZK6QK2" }],
  ["sw1/acme/plant7/_site/cmd/eviction.freeze/a-1_B", { scope: "site", name: "eviction.freeze", id: "a-1_B" }],
  // Ids of 64 letters, digits, "_" and "-" begin with any of them.
  ["sw1/acme/plant7/pi-1/cmd/ping/-V1StGXR8_Z5jdHi6B", { scope: "board", name: "ping", id: "-V1StGXR8_Z5jdHi6B" }],
  ["sw1/acme/_all/cmd/status.get/1", { scope: "fleet", name: "status.get", id: "1" }],
  [`sw1/acme/plant7/pi-1/cmd/ping/${"a".repeat(64)}`, { scope: "board", name: "ping", id: "a".repeat(64) }],
] as const)("%s is a command", (topic, expected) => {
  expect(parseCommandTopic(me, topic)).toEqual(expected);
});

test.each([
  "sw1/acme/plant7/pi-1/cmd/ping",
  "sw1/acme/plant7/pi-1/cmd/ping/",
  "sw1/acme/plant7/pi-1/cmd/ping/1/2",
  "sw1/acme/plant7/pi-1/cmd//1",
  "sw1/acme/plant7/pi-1/cmd/Ping/1",
  "sw1/acme/plant7/pi-1/cmd/__proto__/1",
  "sw1/acme/plant7/pi-1/cmd/ping/a b",
  "sw1/acme/plant7/pi-1/cmd/ping/../..",
  `sw1/acme/plant7/pi-1/cmd/ping/${"a".repeat(65)}`,
  `sw1/acme/plant7/pi-1/cmd/${"a".repeat(65)}/1`,
  "sw1/acme/plant7/pi-10/cmd/ping/1",
  "sw1/acme/plant8/pi-1/cmd/ping/1",
  "sw1/other/_all/cmd/ping/1",
  "sw2/acme/plant7/pi-1/cmd/ping/1",
  "",
])("%j is not a topic", (topic) => {
  expect(parseCommandTopic(me, topic)).toBeUndefined();
});

test("the answer to a site command goes to the site's topic, and the answer to a fleet command to the board's own topic", () => {
  const command = { name: "ping", id: "1" };
  expect(resultTopic(me, { scope: "site", ...command })).toBe("sw1/acme/plant7/_site/res/ping/1");
  expect(resultTopic(me, { scope: "fleet", ...command })).toBe("sw1/acme/plant7/pi-1/res/ping/1");
});

test.each([
  ["sw1/acme/_reply/ops-7/inbox", true],
  ["sw1/acme/plant7/pi-1/res/ping/x", true],
  ["sw1/acme/_reply/", false],
  ["sw1/acme/_reply/a/#", false],
  ["sw1/acme/_reply/+/b", false],
  ["sw1/acme/_reply/a\u0000b", false],
  ["sw1/other/_reply/ops/inbox", false],
  ["sw1/acme/plant7/pi-2/res/ping/x", false],
  ["sw1/acme/plant7/pi-2/cmd/agent.restart/1", false],
  ["$SYS/broker", false],
  ["sw1/acme/_reply/a/b/c/d/e", true],
  ["sw1/acme/_reply/a/b/c/d/e/f", false],
  [`sw1/acme/_reply/${"a/".repeat(200)}a`, false],
])("a sender may request its answer on %j: %s", (topic, isAllowed) => {
  expect(allowedResponseTopic(me, topic)).toBe(isAllowed ? topic : undefined);
});

test.each([
  ["pi-1", true],
  ["a", true],
  ["a".repeat(40), true],
  ["a".repeat(41), false],
  ["-a", false],
  ["a-", false],
  ["A", false],
  ["a.b", false],
  ["_site", false],
  ["a/b", false],
  ["+", false],
  ["", false],
])("%j is a valid name: %s", (text, expected) => {
  expect(isName(text)).toBe(expected);
});

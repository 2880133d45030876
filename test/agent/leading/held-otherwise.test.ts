import { expect, test } from "vitest";
import { heldOtherwise } from "../../../agent/leading/held-otherwise.ts";

test("of the held acts, those that an outage or its quarantine holds are not held otherwise", () => {
  const zone = { why: "zone", zone: "a", state: "FullDisruption" } as const;
  const stays = { why: "no-gain", reason: "DaemonSet" } as const;
  expect(
    heldOtherwise([
      { act: "pod-evicted", board: "pi-1", restraint: stays, count: 2 },
      { act: "pod-evicted", board: "pi-1", restraint: { why: "quarantine" }, count: 3 },
      { act: "pod-collected", board: "pi-1", restraint: zone, count: 4 },
      { act: "board-tainted", board: "pi-2", restraint: zone, count: 1 },
      { act: "board-tainted", board: "pi-3", restraint: { why: "not-live" }, count: 1 },
    ]),
  ).toEqual({ boards: new Set(["pi-2"]), pods: 2 });
});

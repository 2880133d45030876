import { describe, expect, test } from "vitest";
import { readinessOf, type SilentBoards } from "../../../../agent/controllers/service/readiness.ts";
import { clear, silent, webPod } from "./objects.ts";

const unready = webPod("a", { ready: false });
const was = new Set(["uid-a"]);

const look = (pod = unready, silence: SilentBoards = clear, wasReady: ReadonlySet<string> = was) => {
  const { ready, isHeld, cause } = readinessOf([pod], silence, wasReady);
  return { ready: ready.has("uid-a"), isHeld, caused: cause?.verdict };
};
const stays = { ready: true, isHeld: true, caused: undefined };
const isOut = { ready: false, isHeld: false, caused: undefined };

describe("an endpoint that was ready and whose pod is now marked not ready", () => {
  test("is removed if its kubelet reports it unready", () => {
    expect(look()).toEqual(isOut);
    expect(look(unready, { ...clear, held: "the watches of Nodes and their Leases are not live" })).toEqual(isOut);
  });

  test.each(["unknown", "cut-off", "self-isolated", "alive"] as const)(
    "is kept if its board is silent and counts as %s",
    (verdict) => {
      expect(look(unready, silent(verdict))).toEqual(stays);
    },
  );

  test.each(["unproven", "dead"] as const)(
    "is removed if its board is silent and %s, and our verdict is the cause",
    (verdict) => {
      expect(look(unready, silent(verdict))).toEqual({ ...isOut, caused: verdict });
    },
  );

  test("is kept during an outage or quarantine, regardless of the earlier verdict", () => {
    expect(look(unready, silent("dead", "not every board has reported since the last outage"))).toEqual(stays);
    expect(look(unready, silent(undefined, "the watches of Nodes and their Leases are not live"))).toEqual(stays);
  });

  test("is removed if the agent judges no boards and the watches are live", () => {
    expect(look(unready, silent(undefined))).toEqual({ ...isOut, caused: "unproven" });
  });

  test("is removed under policy kubernetes when its board reports again", () => {
    expect(look(unready, { ...silent("alive"), policy: "kubernetes" })).toEqual({ ...isOut, caused: "alive" });
    expect(look(unready, { ...silent("unknown"), policy: "kubernetes" })).toEqual(stays);
  });
});

test("an endpoint that was not ready does not become ready during an outage", () => {
  expect(look(unready, silent("unknown", "blind"), new Set())).toEqual(isOut);
});

test("a terminating pod is removed", () => {
  expect(look(webPod("a", { ready: false, terminating: true }), silent("unknown"))).toEqual(isOut);
});

test("a pod is not held because of another board", () => {
  expect(look(webPod("a", { ready: false, on: "pi-2" }), silent("unknown"))).toEqual(isOut);
});

test("a ready pod is ready even on a silent board, and nothing is held for it", () => {
  expect(look(webPod("a"), silent("dead"))).toEqual({ ready: true, isHeld: false, caused: undefined });
});

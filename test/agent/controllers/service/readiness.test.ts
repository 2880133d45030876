import { describe, expect, test } from "vitest";
import { readinessOf, type Silence } from "../../../../agent/controllers/service/readiness.ts";
import { clear, silent, webPod } from "./objects.ts";

const unready = webPod("a", { ready: false });
const was = new Set(["uid-a"]);

const look = (pod = unready, silence: Silence = clear, wasReady: ReadonlySet<string> = was) => {
  const { ready, isHeld, cause } = readinessOf([pod], silence, wasReady);
  return { ready: ready.has("uid-a"), isHeld, caused: cause?.verdict };
};
const stays = { ready: true, isHeld: true, caused: undefined };
const isOut = { ready: false, isHeld: false, caused: undefined };

describe("an endpoint that was ready, whose pod is marked not ready", () => {
  test("goes when its board speaks for itself: its kubelet said so", () => {
    expect(look()).toEqual(isOut);
    expect(look(unready, { ...clear, held: "our view of the API is not live" })).toEqual(isOut);
  });

  test.each(["unknown", "cut-off", "self-isolated", "alive"] as const)(
    "stays when its board is silent and held to be %s",
    (verdict) => {
      expect(look(unready, silent(verdict))).toEqual(stays);
    },
  );

  test.each(["unproven", "dead"] as const)(
    "goes when its board is silent and %s, and our verdict is the cause",
    (verdict) => {
      expect(look(unready, silent(verdict))).toEqual({ ...isOut, caused: verdict });
    },
  );

  test("stays while we are blind or in quarantine, whatever the verdict was", () => {
    expect(look(unready, silent("dead", "not every board was heard again since the last outage"))).toEqual(stays);
    expect(look(unready, silent(undefined, "our view of the API is not live"))).toEqual(stays);
  });

  test("goes where nobody judges boards and we see well", () => {
    expect(look(unready, silent(undefined))).toEqual({ ...isOut, caused: "unproven" });
  });

  test("under the rules of kube-controller-manager a board that was heard again is no reason to wait", () => {
    expect(look(unready, { ...silent("alive"), policy: "kubernetes" })).toEqual({ ...isOut, caused: "alive" });
    expect(look(unready, { ...silent("unknown"), policy: "kubernetes" })).toEqual(stays);
  });
});

test("what was not ready before does not become ready, however blind we are", () => {
  expect(look(unready, silent("unknown", "blind"), new Set())).toEqual(isOut);
});

test("a pod on its way out goes: somebody deleted it", () => {
  expect(look(webPod("a", { ready: false, terminating: true }), silent("unknown"))).toEqual(isOut);
});

test("a pod on another board is not held because of this one", () => {
  expect(look(webPod("a", { ready: false, on: "pi-2" }), silent("unknown"))).toEqual(isOut);
});

test("a ready pod is ready on a silent board too, and nothing is held for it", () => {
  expect(look(webPod("a"), silent("dead"))).toEqual({ ready: true, isHeld: false, caused: undefined });
});

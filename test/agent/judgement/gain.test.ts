import { describe, expect, test } from "vitest";
import type { GateFacts, Grounds, MoveFacts, VerdictName } from "../../../agent/decisions/grounds.ts";
import { reasonToStay } from "../../../agent/judgement/gain.ts";
import { rulingOf } from "../../../agent/judgement/ruling.ts";

const owners = ["none", "StatefulSet", "DaemonSet", "other"] as const;

describe("a pod of a silent board", () => {
  test.each([
    [{ owner: "other" }, undefined],
    [{ owner: "other", obstacle: "no board" }, "no board"],
    [{ owner: "other", obstacle: "placement" }, "placement"],
    [{ owner: "other", obstacle: "volume" }, "volume"],
    [{ owner: "none" }, "no owner"],
    [{ owner: "StatefulSet" }, "StatefulSet"],
    [{ owner: "DaemonSet" }, "DaemonSet"],
  ] as const)("without an annotation and with %j stays for: %s", (facts, reason) => {
    expect(reasonToStay(facts)).toBe(reason);
  });

  test.each(owners)("stays, leaves or stays as its annotation says, regardless of its owner (%s)", (owner) => {
    for (const obstacle of [undefined, "no board", "volume"] as const) {
      const of = (wish: "hold" | "replace-when-lost" | "unknown"): MoveFacts => ({
        owner,
        wish,
        ...(obstacle && { obstacle }),
      });
      expect(reasonToStay(of("hold"))).toBe("asked");
      expect(reasonToStay(of("replace-when-lost"))).toBe(undefined);
      expect(reasonToStay(of("unknown"))).toBe("asked unclearly");
    }
  });
});

describe("the ruling on the eviction of a pod that would gain nothing", () => {
  const unreachable = "node.kubernetes.io/unreachable";
  const eviction = (gate: GateFacts, taints: readonly string[] = [unreachable], verdict: VerdictName = "unproven") => {
    const because = { kind: "taints", taints, toleratedMs: 0, ranMs: 0, silence: { verdict, rule: "" } } as const;
    return { act: "pod-evicted", board: "pi", because, gate } satisfies Grounds;
  };
  const evidence = { policy: "evidence", ready: "Unknown", move: { owner: "none" } } as const;

  test("is a hold under policy evidence, and none under policy kubernetes or without a policy in the record", () => {
    expect(rulingOf(eviction(evidence))).toBe("no-gain");
    expect(rulingOf(eviction({ ...evidence, policy: "kubernetes" }))).toBe("act");
    const { policy: _, ...without } = evidence;
    expect(rulingOf(eviction(without))).toBe("act");
  });

  test("is a hold for both of our taints, and none for an order of another client or a kubelet's own report", () => {
    expect(rulingOf(eviction(evidence, ["node.kubernetes.io/not-ready"]))).toBe("no-gain");
    expect(rulingOf(eviction(evidence, [unreachable, "maintenance"]))).toBe("act");
    expect(rulingOf(eviction({ ...evidence, ready: "False" }, ["node.kubernetes.io/not-ready"]))).toBe("act");
  });

  test("is none once an operator confirmed the zone or the board dead", () => {
    expect(rulingOf(eviction(evidence, [unreachable], "dead"))).toBe("act");
    const taints = [unreachable, "node.kubernetes.io/out-of-service"];
    expect(rulingOf(eviction({ ...evidence, confirmed: "silent" }, taints))).toBe("act");
  });

  test("names the gain after the link and the verdict, and before the safety valve", () => {
    expect(rulingOf(eviction({ ...evidence, notLive: true }))).toBe("not-live");
    expect(rulingOf(eviction({ ...evidence, frozenMs: 1 }))).toBe("freeze");
    expect(rulingOf(eviction(evidence, [unreachable], "cut-off"))).toBe("verdict");
    expect(rulingOf(eviction({ ...evidence, valve: "acts" }))).toBe("no-gain");
  });
});

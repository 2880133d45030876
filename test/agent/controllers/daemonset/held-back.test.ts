import { describe, expect, test } from "vitest";
import type { Pod } from "../../../../agent/api/core.ts";
import { nodes } from "../../../../agent/api/resources.ts";
import { atOnce } from "../../../../agent/base/steps.ts";
import { type Board, podsByBoard } from "../../../../agent/controllers/daemonset/board.ts";
import { planBoard } from "../../../../agent/controllers/daemonset/board-pods.ts";
import { presentHash } from "../../../../agent/controllers/daemonset/history.ts";
import { updateStep } from "../../../../agent/controllers/daemonset/rolling-update.ts";
import { firstMemory } from "../../../../agent/controllers/node-lifecycle/memory.ts";
import type { Grounds } from "../../../../agent/decisions/grounds.ts";
import { noQuarantine } from "../../../../agent/judgement/link.ts";
import { node } from "../../../support/builders.ts";
import { DaemonSite, podOf, revisionOf, set } from "./support/daemon-site.ts";

/*
 * A board falls silent, and its pods are marked not ready: that is our verdict, and what follows from it is held while the
 * verdict is not certain. What a rollout does with pods that serve, or that are broken on their own word, goes on.
 */

const now = { mono: 0, wall: 0 };
const silent = { verdict: "unknown", rule: "silent" } as const;
const cause = { board: "n1", ...silent };
const grounds: Grounds = { act: "pod-replaced", board: "n1", because: { kind: "silence", ...silent }, gate: {} };
const held: Board = { name: "n1", run: false, stay: true, silence: { cause, grounds, isHeld: true } };
const judged: Board = { ...held, silence: { cause, grounds, isHeld: false } };
const owner = set();
const availability = { minReady: 0, readiness: new Map() };
const old = (ready = "False"): Pod => podOf(owner, "n1", { hash: "old", ready });

const step = (board: Board, pods: readonly Pod[], of = owner) =>
  atOnce(updateStep([board], atOnce(podsByBoard(pods)), { set: of, hash: atOnce(presentHash(of)), availability }, now))
    .step;

describe("an update", () => {
  test("does not replace the broken pod of a silent board while the silence is held", () => {
    expect(step(held, [old()]).leaving).toEqual([]);
  });

  test("replaces such a pod once the verdict permits it, and names the cause", () => {
    const pod = old();
    expect(step(judged, [pod]).leaving).toEqual([{ pod, silence: judged.silence }]);
  });

  test("replaces a pod that its kubelet reports broken, and names no cause", () => {
    const pod = old();
    expect(step({ name: "n1", run: true, stay: true }, [pod]).leaving).toEqual([{ pod }]);
  });

  test("replaces a serving pod in its turn, even on a silent board, because that is the rollout's decision", () => {
    const pod = old("True");
    expect(step(held, [pod]).leaving).toEqual([{ pod }]);
  });

  test("with surge does not replace the broken pod of a silent board either while the silence is held", () => {
    const surging = set({
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    });
    const pod = podOf(surging, "n1", { hash: "old", ready: "False" });
    expect(step(held, [pod], surging).leaving).toEqual([]);
    expect(step(judged, [pod], surging).leaving).toEqual([{ pod, silence: judged.silence }]);
  });
});

test("if a silent board has two pods, the old one is kept while the verdict is open", () => {
  const surging = set({ updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } } });
  const pods = [
    podOf(surging, "n1", { hash: "old", ready: "False", name: "old", uid: "old" }),
    podOf(surging, "n1", { ready: "False", name: "new", uid: "new" }),
  ];
  const context = { set: surging, hash: atOnce(presentHash(surging)), availability, backoff: undefined };
  expect(atOnce(planBoard(held, pods, context, now)).leaving).toEqual([]);
  expect(atOnce(planBoard(judged, pods, context, now)).leaving).toEqual([{ pod: pods[0], silence: judged.silence }]);
});

describe("a DaemonSet on a site", () => {
  /** One board is silent, its pod is marked, and an operator rolls out a new template with room for all. */
  async function rollout(
    judge: DaemonSite["judge"],
    before: (site: DaemonSite) => void = () => undefined,
  ): Promise<DaemonSite> {
    const site = new DaemonSite();
    const updateStrategy = { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "100%" } };
    const old = set({ updateStrategy });
    const after = set({ updateStrategy, image: "agent:2", generation: 2 });
    site.judge = judge;
    site.site.api.put(nodes, node("n1", { conditions: { Ready: "Unknown" } }));
    site.put(after, revisionOf(old), podOf(old, "n1", { ready: "False" }));
    before(site);
    await site.begin();
    return site;
  }

  test("does not delete a pod before the boards are judged", async () => {
    const site = await rollout(undefined);
    await site.run(60_000);
    expect(site.pods).toEqual(["on-n1"]);
    site.judge = "no judge";
    await site.run(66_000);
    expect(site.writes("delete")).toEqual(["pod/default/on-n1"]);
  });

  test("waits in the quarantine after an outage, while everything else continues", async () => {
    const restoredAt = { mono: 0, wall: 0 };
    const site = await rollout({ ...firstMemory, quarantine: { ...noQuarantine, restoredAt } });
    site.boards("n2");
    await site.run(30_000);
    expect(site.writes("delete")).toEqual([]);
    expect(site.pods).toEqual(["agent-1", "on-n1"]);
    expect(site.set.status).toMatchObject({ desiredNumberScheduled: 2, observedGeneration: 2 });
  });

  test("waits while the link is down, and for a grace period after that, because the board may have been alive", async () => {
    const site = await rollout("no judge", (blind) => blind.site.api.cut(true));
    await site.run(60_000);
    expect(site.writes("delete")).toEqual([]);
    site.site.api.cut(false);
    await site.run(99_000);
    expect(site.writes("delete")).toEqual([]);
    await site.run(106_000);
    expect(site.writes("delete")).toEqual(["pod/default/on-n1"]);
  });

  test("reads a pod again if it was written between its read and its deletion, and then deletes it", async () => {
    const site = await rollout("no judge", ({ site: { refusals } }) =>
      refusals.add({ object: "default/on-n1", reason: "Conflict", times: 2 }),
    );
    await site.run(4000);
    expect(site.pods).toEqual(["agent-1"]);
    const read = site.site.journal.asked.filter(({ object }) => object === "pod/default/on-n1");
    expect(read).toHaveLength(2);
    expect(site.site.journal.writes.filter(({ object }) => object === "pod/default/on-n1")).toMatchObject([
      { verb: "delete", refused: "Conflict" },
      { verb: "delete", refused: "Conflict" },
      { verb: "delete" },
    ]);
  });

  test("waits on a board that has not been judged yet", async () => {
    const site = await rollout(firstMemory);
    await site.run(60_000);
    expect(site.pods).toEqual(["on-n1"]);
  });
});

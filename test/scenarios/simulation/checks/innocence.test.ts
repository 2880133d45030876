import { describe, expect, onTestFinished, test } from "vitest";
import { SeededRandom } from "../../../support/seeded-random.ts";
import type { NodeState } from "../history.ts";
import { type Setting, scheduleOf } from "../schedule.ts";
import { Site } from "../site.ts";
import type { Act } from "./acts.ts";
import { checkInnocence } from "./innocence.ts";

const second = 1000;
const state = (at: number, ready: string, ...taints: readonly string[]): NodeState => ({
  at,
  version: "1",
  ready,
  taints,
});
const lost = ["Unknown", "node.kubernetes.io/unreachable:NoExecute"] as const;

/**
 * The verdict of the check on an eviction from pi-1, which was dark from 100 s to 200 s. The server is restored at 500
 * s.
 */
function complaintsAbout(
  evictedAt: number,
  { policy, restored }: { readonly policy: Setting["policy"]; readonly restored: readonly NodeState[] },
): readonly string[] {
  const site = new Site(scheduleOf(1, new SeededRandom(1), { boards: 1, policy }), { everything: false });
  onTestFinished(() => site.close());
  const { history } = site.recorder;
  history.troubles.set("pi-1", [{ what: "no power", from: 100 * second, until: 200 * second }]);
  history.nodes.set("pi-1", [state(0, "True"), state(150 * second, ...lost), state(205 * second, "True"), ...restored]);
  history.restores.push(500 * second);
  const eviction: Act = {
    is: "evict",
    board: "pi-1",
    zone: "zone-1",
    pod: "brief-pi-1",
    process: 1,
    sentAt: evictedAt,
    triedAt: evictedAt,
    order: 1,
    isDone: true,
    isGone: false,
    isAnswered: true,
    isOnRunning: true,
    uid: undefined,
  };
  return checkInnocence(history, [eviction]);
}

describe("an eviction after a restore that brought back the taint of a living board", () => {
  const restored = [
    state(500 * second, ...lost),
    state(500 * second, "True", "node.kubernetes.io/unreachable:NoExecute"),
    state(523 * second, "True"),
  ];

  test("is what policy kubernetes does, like kube-controller-manager", () => {
    expect(complaintsAbout(522 * second, { policy: "kubernetes", restored })).toEqual([]);
  });

  test("harms an innocent board if its Node has long been without the taint", () => {
    expect(complaintsAbout(680 * second, { policy: "kubernetes", restored })).toEqual([
      "innocent: evict brief-pi-1 by process 1 at 680.000s: it had no fault since 523.000s",
    ]);
  });

  test("harms an innocent board under policy evidence", () => {
    expect(complaintsAbout(522 * second, { policy: "evidence", restored })).toEqual([
      "innocent: evict brief-pi-1 by process 1 at 522.000s: it had no fault since 205.000s",
    ]);
  });
});

test("an eviction after a restore that brought back a Node without taints harms an innocent board", () => {
  const restored = [state(500 * second, "True")];
  expect(complaintsAbout(522 * second, { policy: "kubernetes", restored })).toEqual([
    "innocent: evict brief-pi-1 by process 1 at 522.000s: it had no fault since 205.000s",
  ]);
});

import { expect, test } from "vitest";
import { decide, decideAfterWrites } from "../../../../agent/controllers/daemonset/decide.ts";
import { firstMemory, type SetMemory } from "../../../../agent/controllers/daemonset/memory.ts";
import type { SetState } from "../../../../agent/controllers/daemonset/pass.ts";
import type { Outcome } from "../../../../agent/execution/actions.ts";
import { knownOf, podOf, set } from "./support/daemon-site.ts";

/*
 * A board is closed to new pods right after a pass has written the status. Our own write comes back and wakes the set once
 * more; kube-controller-manager hears it before the board could change, and leaves the board out until the next change.
 */

const now = { mono: 0, wall: 0 };
const owner = set();
const counts = { desiredNumberScheduled: 1, currentNumberScheduled: 1, numberMisscheduled: 0, numberReady: 1 };
const available = { updatedNumberScheduled: 1, numberAvailable: 1, numberUnavailable: 0 };
const written = set({ status: { ...counts, ...available } });
const echoed = { ...written, metadata: { ...written.metadata, resourceVersion: "2" } };

const work = (of: typeof owner, run: boolean, version = "1"): SetState => ({
  kind: "work",
  set: of,
  boards: [{ name: "n1", run, stay: true }],
  vanished: [],
  pods: [podOf(of, "n1", { resourceVersion: version })],
  history: { present: [knownOf(of)], old: [] },
  claims: [],
  expected: new Map(),
});

function afterFirstPass(ok = true): SetMemory {
  const first = decide(work(owner, true), firstMemory, now);
  expect(first.actions).toHaveLength(1);
  const outcomes = first.actions.map(
    (action): Outcome => (ok ? { action, ok: true, object: echoed } : { action, ok: false, error: new Error("no") }),
  );
  return decideAfterWrites(first, outcomes, now).memory;
}

test("the echo of our own status write does not cause another count of the boards", () => {
  expect(decide(work(echoed, false), afterFirstPass(), now).actions).toEqual([]);
});

test("any other change of the set, or of one of its pods, makes the controller count again", () => {
  const touched = { ...echoed, metadata: { ...echoed.metadata, resourceVersion: "3" } };
  expect(decide(work(touched, false), afterFirstPass(), now).actions).toMatchObject([
    { patch: { status: { desiredNumberScheduled: 0, numberMisscheduled: 1 } } },
  ]);
  expect(decide(work(echoed, false, "4"), afterFirstPass(), now).actions).toHaveLength(1);
});

test("while a pod is misplaced, every pass counts the boards", () => {
  const displaced = set({ status: { ...counts, ...available, numberMisscheduled: 1 } });
  const known = { ...displaced, metadata: { ...displaced.metadata, resourceVersion: "2" } };
  expect(decide(work(known, false), afterFirstPass(), now).actions).toHaveLength(1);
});

test("a status that could not be written is written in the next pass", () => {
  expect(decide(work(owner, true), afterFirstPass(false), now).actions).toHaveLength(1);
});

test("a new leader always counts the boards", () => {
  expect(decide(work(echoed, false), firstMemory, now).actions).toHaveLength(1);
});

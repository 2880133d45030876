import { expect, test } from "vitest";
import type { Instant } from "../../../agent/base/clock.ts";
import { firstMemory } from "../../../agent/controllers/node-lifecycle/memory.ts";
import type { Term } from "../../../agent/execution/fence.ts";
import { noHolds } from "../../../agent/holds/holds.ts";
import type { Loop } from "../../../agent/leading/control-loops.ts";
import { CurrentTerm } from "../../../agent/leading/current-term.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const term: Term = { number: 7, signal: new AbortController().signal, standsAt: () => true };

function loop(name: string) {
  const done: string[] = [];
  const acts = { wakeAll: () => done.push("wake"), pause: () => done.push("pause"), resume: () => done.push("resume") };
  // CurrentTerm calls nothing else of a loop.
  return { done, loop: { name, ...acts } as unknown as Loop };
}

function board() {
  const clock = new FakeClock();
  let changes = 0;
  const current = new CurrentTerm(clock, () => void changes++);
  const end: Instant = { mono: clock.now().mono + 60_000, wall: 0 };
  const pause = { end, by: "ops:alice", reason: undefined, foreign: {} };
  const paused = { ...noHolds, pauses: new Map([["pod-gc", pause]]) };
  return { clock, current, paused, changes: () => changes };
}

test("a follower does not run loops or judge boards", () => {
  const { current } = board();
  const shown = [current.term, current.loops, current.isActing, current.site, current.judgeMemory()];
  expect(shown).toEqual([undefined, [], false, undefined, "no judge"]);
});

test("a node lifecycle controller that has not judged yet differs from one that is turned off", () => {
  const { current } = board();
  current.begin(term, { loops: [loop("node-lifecycle").loop], judgeMemory: () => undefined });
  expect([current.isActing, current.judgeMemory()]).toEqual([true, undefined]);
  current.begin(term, { loops: [loop("node-lifecycle").loop], judgeMemory: () => firstMemory });
  expect([current.judgeMemory(), current.site]).toEqual([firstMemory, firstMemory]);
  current.end();
  expect([current.term, current.isActing, current.judgeMemory()]).toEqual([undefined, false, "no judge"]);
});

test("an operator pauses one controller while the others continue; once resumed, it examines every key again", () => {
  const { current, paused, changes } = board();
  const [gc, judge] = [loop("pod-gc"), loop("node-lifecycle")];
  current.begin(term, { loops: [gc.loop, judge.loop] });
  current.holdsChanged(paused);
  expect([gc.done, judge.done, changes()]).toEqual([["pause", "wake"], ["resume", "wake"], 1]);
});

test("after an outage, the loops that only decide by another policy examine every key again as well", () => {
  const { current } = board();
  const [judge, other] = [loop("node-lifecycle"), loop("node-lifecycle")];
  current.begin(term, { loops: [judge.loop], compared: { loops: [other.loop], judgeMemory: () => undefined } });
  current.wakeAll();
  expect([judge.done, other.done]).toEqual([["wake"], ["wake"]]);
});

test("a pause ends at its time", async () => {
  const { clock, current, paused } = board();
  const { done, loop: gc } = loop("pod-gc");
  current.begin(term, { loops: [gc] });
  await clock.advance("59s");
  current.obeyPauses(paused);
  await clock.advance("1s");
  current.obeyPauses(paused);
  expect(done).toEqual(["pause", "resume"]);
});

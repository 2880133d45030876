import { expect, test } from "vitest";
import { DecisionChanges } from "../../../../agent/decisions/decision-changes.ts";
import type { DecisionRecord, StoryState } from "../../../../agent/decisions/decision-record.ts";
import { ActEvents } from "../../../../agent/fleet/reporting/act-events.ts";

const moment = { at: "2026-11-20T12:00:00Z", boot: "b1", mono: 1 };
const at = (seconds: number) => ({ mono: seconds * 1000, wall: 0 });

function eviction(pod: string, state: StoryState, more: Partial<DecisionRecord> = {}): DecisionRecord {
  return {
    v: 1,
    act: "pod-evicted",
    on: { kind: "Pod", namespace: "shop", name: pod, uid: `uid-${pod}` },
    board: "pi-3",
    by: "taint-eviction",
    leader: "pi-1",
    term: 7,
    because: { kind: "node-deleted" },
    state,
    first: moment,
    last: moment,
    restraints: [],
    failures: 0,
    ...more,
  };
}

function setUp() {
  const changes = new DecisionChanges();
  return { changes, events: new ActEvents(() => changes.take()) };
}

test("an eviction is reported to the fleet with its board, its pod and the facts that it rests on", () => {
  const { changes, events } = setUp();
  expect(events.due(at(0))).toBeUndefined();
  changes.add(eviction("web", "done"));
  expect(events.due(at(2))).toEqual({
    type: "acts.decided",
    severity: "warning",
    isOfSite: true,
    detail: {
      term: 7,
      counts: [{ act: "pod-evicted", state: "done", count: 1 }],
      first: [
        {
          at: moment.at,
          act: "pod-evicted",
          state: "done",
          object: "pod/shop/web",
          board: "pi-3",
          by: "taint-eviction",
          because: "node-deleted",
        },
      ],
    },
  });
});

test("an act that is only held back is not a warning, and its message gives the reason", () => {
  const { changes, events } = setUp();
  changes.add(eviction("web", "held", { restraints: [{ why: "quarantine", since: moment }] }));
  const event = events.due(at(0));
  expect(event).toMatchObject({ severity: "info", detail: { first: [{ state: "held", why: "quarantine" }] } });
});

test("a zone that falls silent causes one message a minute, which counts all acts and names ten of them", () => {
  const { changes, events } = setUp();
  changes.add(eviction("first", "done"));
  expect(events.due(at(0))).toBeDefined();
  for (let pod = 0; pod < 5000; pod++) changes.add(eviction(`web-${pod}`, pod % 5 === 0 ? "failed" : "done"));
  expect(events.due(at(59))).toBeUndefined();
  const event = events.due(at(60));
  expect(event?.detail).toMatchObject({
    counts: [
      { act: "pod-evicted", state: "failed", count: 1000 },
      { act: "pod-evicted", state: "done", count: 4000 },
    ],
  });
  expect(event?.detail.first).toHaveLength(10);
  expect(JSON.stringify(event).length).toBeLessThan(4096);
  expect(events.due(at(120))).toBeUndefined();
});

test("acts not reported within their minute are reported when the agent stops", () => {
  const { changes, events } = setUp();
  changes.add(eviction("web", "done"));
  events.due(at(0));
  changes.add(eviction("db", "done"));
  expect(events.due(at(1))).toBeUndefined();
  expect(events.rest()).toMatchObject({ detail: { first: [{ object: "pod/shop/db" }] } });
  expect(events.rest()).toBeUndefined();
});

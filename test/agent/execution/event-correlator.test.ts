import { describe, expect, test } from "vitest";
import { nodes } from "../../../agent/api/resources.ts";
import type { Instant } from "../../../agent/base/clock.ts";
import type { EventAction } from "../../../agent/execution/actions.ts";
import { EventCorrelator, type EventLimits } from "../../../agent/execution/event-correlator.ts";

/** Small limits, so that a test reaches them with few Events. */
const limits: EventLimits = {
  burst: 3,
  refill: 300_000,
  similar: 3,
  similarWindow: 600_000,
  objects: 2,
  perObject: 2,
};

const at = (seconds: number): Instant => ({ mono: seconds * 1000, wall: 0 });

const event = (
  message: string,
  { board = "pi-3", severity = "Normal", reason = "NodeNotReady" } = {},
): EventAction => ({
  do: "event",
  about: { resource: nodes, namespace: undefined, name: board, uid: `uid-${board}` },
  severity: severity as EventAction["severity"],
  reason,
  message,
});

const combined = (message: string): string => `(combined from similar events): ${message}`;

describe("Events that differ only in their message", () => {
  const recorded = (correlator: EventCorrelator, ...messages: readonly string[]) =>
    messages.map((message) => correlator.correlate(event(message), at(0)).message);

  test("are combined from the third message on, and the first two remain Events of their own", () => {
    const correlator = new EventCorrelator(limits);
    expect(recorded(correlator, "a", "b", "c", "d", "a", "b", "c")).toEqual([
      ...["a", "b", combined("c"), combined("d")],
      ...["a", "b", combined("c")],
    ]);
  });

  test("have one key once they are combined, and one for each message before", () => {
    const correlator = new EventCorrelator(limits);
    const keys = ["a", "b", "c", "d"].map((message) => correlator.correlate(event(message), at(0)).key);
    expect(new Set(keys.slice(0, 3)).size).toBe(3);
    expect(keys[3]).toBe(keys[2]);
  });

  test("are counted separately for each severity, reason and object", () => {
    const correlator = new EventCorrelator(limits);
    recorded(correlator, "a", "b", "c");
    for (const other of [{ severity: "Warning" }, { reason: "NodeReady" }, { board: "pi-4" }]) {
      expect(correlator.correlate(event("c", other), at(0)).message).toBe("c");
    }
  });

  test.each([
    [600, combined("d")],
    [600.001, "d"],
  ])("are combined until none has been recorded for the window (%s s after the last one: %s)", (pause, message) => {
    const correlator = new EventCorrelator(limits);
    // Each Event begins the window again, so all three are similar, although the first is older than the window.
    for (const [index, each] of ["a", "b", "c"].entries()) correlator.correlate(event(each), at(index * 500));
    expect(correlator.correlate(event("d"), at(1000 + pause)).message).toBe(message);
  });
});

describe("the allowance of an object", () => {
  test("is one for all its Events, whatever their severity and reason", () => {
    const correlator = new EventCorrelator(limits);
    const kinds = [{}, { severity: "Warning" }, { reason: "NodeReady" }, { severity: "Warning", reason: "Rebooted" }];
    expect(kinds.map((kind) => correlator.admits(event("a", kind), at(0)))).toEqual([true, true, true, false]);
    expect(correlator.admits(event("a", { board: "pi-4" }), at(0))).toBe(true);
  });

  test.each([
    [299.999, false],
    [300, true],
    [900, true],
  ])("has another Event after each refill (%s s: %s)", (seconds, isAdmitted) => {
    const correlator = new EventCorrelator(limits);
    for (let count = 0; count < 3; count++) correlator.admits(event("a"), at(0));
    expect(correlator.admits(event("a"), at(seconds))).toBe(isAdmitted);
  });
});

describe("what is remembered is bounded:", () => {
  test("beyond the last objects, the one whose last Event is the oldest begins anew", () => {
    const correlator = new EventCorrelator(limits);
    for (const board of ["pi-1", "pi-2"]) {
      for (let count = 0; count < 3; count++) correlator.admits(event("a", { board }), at(0));
    }
    // pi-1 is used again, so pi-3 takes the place of pi-2.
    correlator.correlate(event("a", { board: "pi-1" }), at(1));
    correlator.correlate(event("a", { board: "pi-3" }), at(2));
    expect(["pi-1", "pi-2"].map((board) => correlator.admits(event("a", { board }), at(2)))).toEqual([false, true]);
  });

  test("an object's kinds of Events", () => {
    const correlator = new EventCorrelator(limits);
    for (const message of ["a", "b", "c"]) correlator.correlate(event(message), at(0));
    for (const reason of ["NodeReady", "Rebooted"]) correlator.correlate(event("a", { reason }), at(1));
    expect(correlator.correlate(event("d"), at(2)).message).toBe("d");
  });

  test("an object's written Events, of which the oldest is created again when it repeats", () => {
    const correlator = new EventCorrelator(limits);
    for (const [count, key] of ["a", "b", "c"].entries()) {
      correlator.recordWritten(event(key), key, { name: key, count }, at(0));
    }
    expect(["a", "b", "c"].map((key) => correlator.lastWritten(event(key), key)?.name)).toEqual([undefined, "b", "c"]);
    correlator.forgetWritten(event("b"), "b");
    expect(correlator.lastWritten(event("b"), "b")).toBeUndefined();
  });
});

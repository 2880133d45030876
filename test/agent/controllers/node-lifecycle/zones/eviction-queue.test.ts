import { describe, expect, test } from "vitest";
import { type Instant, shifted } from "../../../../../agent/base/clock.ts";
import { emptyBucket, fullBucket } from "../../../../../agent/base/token-bucket.ts";
import {
  addAll,
  dequeue,
  type EvictionQueue,
  firstEligible,
  newQueue,
  nextTurnAt,
  putFirst,
  removeAll,
  requeue,
  takeTurn,
  withRate,
} from "../../../../../agent/controllers/node-lifecycle/zones/eviction-queue.ts";

const start: Instant = { mono: 5_000, wall: 0 };
const at = (seconds: number): Instant => shifted(start, seconds * 1000);
const anyone = (): boolean => true;
/** As good as unlimited: a token for every turn that is a second after the last one. */
const eager = newQueue(1, fullBucket(start, 1));
const names = (queue: EvictionQueue): readonly string[] => [...queue.waiting.keys()];

function handled(queue: EvictionQueue, from: number): readonly string[] {
  const order: string[] = [];
  let rest = queue;
  for (let seconds = from; rest.waiting.size > 0 && seconds < from + 100; seconds++) {
    const { queue: after, entry } = takeTurn(rest, anyone, at(seconds));
    rest = entry ? dequeue(after, entry.name) : after;
    if (entry) order.push(entry.name);
  }
  return order;
}

describe("a queue of boards", () => {
  test("is first come, first served", () => {
    const queue = addAll(addAll(addAll(eager, ["first"], at(0)), ["second"], at(1)), ["third"], at(2));
    expect(queue.seen).toEqual(new Set(["first", "second", "third"]));
    expect(handled(queue, 3)).toEqual(["first", "second", "third"]);
  });

  test("keeps the order of boards added at the same instant", () => {
    expect(handled(addAll(eager, ["b", "a", "c"], at(0)), 0)).toEqual(["b", "a", "c"]);
  });

  test("does not add a board twice, even after its turn, until it is removed", () => {
    const queue = addAll(eager, ["pi"], at(0));
    expect(addAll(queue, ["pi"], at(1))).toBe(queue);
    const over = dequeue(queue, "pi");
    expect(addAll(over, ["pi"], at(2))).toBe(over);
    expect(names(addAll(removeAll(over, ["pi"]), ["pi"], at(3)))).toEqual(["pi"]);
  });

  test("keeps two of three boards when the third is removed before its turn", () => {
    const queue = removeAll(addAll(eager, ["first", "second", "third"], at(0)), ["second", "unknown"]);
    expect(handled(queue, 0)).toEqual(["first", "third"]);
  });

  test("does not add a board again that was removed during its turn", () => {
    const queue = addAll(eager, ["first", "second"], at(0));
    const removed = removeAll(queue, ["second"]);
    expect(requeue(removed, "second", at(1))).toBe(removed);
    expect(names(requeue(queue, "first", at(1)))).toEqual(["second", "first"]);
  });

  test("puts a failed turn behind those that are due earlier", () => {
    const queue = requeue(addAll(eager, ["first", "second"], at(0)), "first", at(0.05));
    expect(firstEligible(queue, anyone)?.name).toBe("second");
    expect(handled(queue, 1)).toEqual(["second", "first"]);
  });

  test("can move a board ahead of those that are due earlier, without adding a second entry", () => {
    const queue = addAll(addAll(eager, ["first", "second"], at(0)), ["third"], at(2));
    expect(names(putFirst(queue, ["third", "unknown"]))).toEqual(["third", "first", "second"]);
    expect(handled(putFirst(queue, ["third"]), 0)).toEqual(["third", "first", "second"]);
    expect(putFirst(queue, ["unknown"])).toBe(queue);
  });

  test("skips boards that may not have a turn", () => {
    const queue = addAll(eager, ["held", "free"], at(0));
    expect(takeTurn(queue, (name) => name === "free", at(0)).entry?.name).toBe("free");
    expect(takeTurn(queue, () => false, at(0)).queue).toBe(queue);
  });
});

describe("the allowance of a zone", () => {
  const slow = newQueue(0.1, fullBucket(start, 1));

  test("permits one board per ten seconds, the first immediately", () => {
    const queue = addAll(slow, ["a", "b"], at(0));
    const first = takeTurn(queue, anyone, at(0));
    expect(first.entry?.name).toBe("a");
    const rest = dequeue(first.queue, "a");
    expect(nextTurnAt(rest, anyone, at(0))).toEqual(at(10));
    expect(takeTurn(rest, anyone, at(9.99)).entry).toBeUndefined();
    expect(takeTurn(rest, anyone, at(10)).entry?.name).toBe("b");
  });

  test("loses its token before the head is checked for being due", () => {
    const queue = requeue(addAll(slow, ["pi"], at(0)), "pi", at(5));
    const tooEarly = takeTurn(queue, anyone, at(0));
    expect(tooEarly.entry).toBeUndefined();
    expect(takeTurn(tooEarly.queue, anyone, at(5)).entry).toBeUndefined();
    expect(takeTurn(tooEarly.queue, anyone, at(10)).entry?.name).toBe("pi");
  });

  test("plans no turn before a board is due, and none if no board waits", () => {
    const queue = requeue(addAll(slow, ["pi"], at(0)), "pi", at(5));
    expect(nextTurnAt(queue, anyone, at(0))).toEqual(at(5));
    expect(nextTurnAt(slow, anyone, at(0))).toBeUndefined();
  });

  test("gives no turn at a rate of 0, and follows a new rate", () => {
    const never = withRate(addAll(slow, ["pi"], at(0)), 0, at(0));
    expect(takeTurn(never, anyone, at(100_000)).entry).toBeUndefined();
    expect(nextTurnAt(never, anyone, at(0))).toBeUndefined();
    expect(withRate(never, 5.5, at(0)).rate).toBe(5.5);
  });

  test("is unchanged if the rate is set again to the same value", () => {
    expect(withRate(slow, 0.1, at(3))).toBe(slow);
  });

  test("has a token at a new rate only if it had one at the old rate", () => {
    expect(withRate(slow, 0.01, at(0)).bucket.level).toBe(1);
    expect(withRate(newQueue(0.1, emptyBucket(at(0))), 0.01, at(9)).bucket.level).toBe(0);
    expect(withRate(newQueue(0.1, emptyBucket(at(0))), 0.01, at(10)).bucket.level).toBe(1);
  });

  test.each([0.1, 1, 10])(
    "gives the first turn after a standstill a whole interval later, at %f per second",
    (rate) => {
      const stopped = withRate(addAll(newQueue(rate, fullBucket(start, 1)), ["pi"], at(0)), 0, at(0));
      const resumed = withRate(stopped, rate, at(60));
      expect(resumed.rate).toBe(rate);
      expect(nextTurnAt(resumed, anyone, at(60))).toEqual(at(60 + 1 / rate));
    },
  );
});

import { expect, test } from "vitest";
import { shifted } from "../../../agent/base/clock.ts";
import { LeaseTerm } from "../../../agent/election/term.ts";
import { FakeClock } from "../../support/fake-clock.ts";

test("after its renewal deadline the work of a term does not write anything, although no other board can lead yet", () => {
  const clock = new FakeClock();
  const begun = clock.now();
  const at = (seconds: number) => shifted(begun, seconds * 1000);
  const term = new LeaseTerm(clock, { number: 3, until: at(54), deadline: at(40) });
  expect(
    [39.999, 40, 53.999, 54].map((seconds) => [term.forWork.standsAt(at(seconds)), term.standsAt(at(seconds))]),
  ).toEqual([
    [true, true],
    [false, true],
    [false, true],
    [false, false],
  ]);
});

test("a renewal extends both the deadline and the term, and neither ever goes back", () => {
  const clock = new FakeClock();
  const begun = clock.now();
  const at = (seconds: number) => shifted(begun, seconds * 1000);
  const term = new LeaseTerm(clock, { number: 3, until: at(54), deadline: at(40) });
  term.extend({ until: at(64), deadline: at(50) });
  term.extend({ until: at(60), deadline: at(45) });
  expect([term.forWork.standsAt(at(49.999)), term.forWork.standsAt(at(50)), term.standsAt(at(63.999))]).toEqual([
    true,
    false,
    true,
  ]);
  term.end({ is: "expired", why: "stopped" }, { serverAnswered: true });
  expect([term.standsAt(at(10)), term.isTrustedAt(at(10))]).toEqual([false, true]);
});

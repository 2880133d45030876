import { expect, test } from "vitest";
import { ReadDelay } from "../../../../agent/fleet/mqtt/read-delay.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

/** A clock whose time goes on while nothing of ours runs. */
class StoppedClock extends FakeClock {
  lost = 0;

  override now() {
    const { mono, wall } = super.now();
    return { mono: mono + this.lost, wall: wall + this.lost };
  }
}

test("in a process that runs normally, no bytes are left unread", async () => {
  const clock = new FakeClock();
  const unread = new ReadDelay(clock);
  unread.begin();
  for (let looks = 0; looks < 100; looks++) {
    await clock.advance("700ms");
    expect(unread.longest).toBe(0);
  }
  unread.end();
});

test.each(["reading comes first", "looking comes first"])(
  "a stopped process has an unread delay when it wakes up, regardless of which event runs first: %s",
  async (first) => {
    const clock = new StoppedClock();
    const unread = new ReadDelay(clock);
    unread.begin();
    await clock.advance("10s");
    clock.lost = 87_000;
    if (first === "looking comes first") await clock.advance("1s");
    expect(unread.longest).toBeGreaterThanOrEqual(87_000);
    expect(unread.longest).toBeLessThan(90_000);
    // By then everything has been read.
    await clock.advance("3s");
    expect(unread.longest).toBe(0);
    unread.end();
  },
);

import { expect, test } from "vitest";
import { ClockSync } from "../../../agent/board/clock-sync.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

const marker = "/run/systemd/timesync/synchronized";

function board({ isTrusted = false, hasMarker = false, answer = undefined as string | undefined } = {}) {
  const clock = new FakeClock();
  const log = new RecordingLog();
  const told = { hasMarker, answer, asked: 0, news: 0 };
  const sync = new ClockSync(
    { clock, log, random: new SeededRandom(1) },
    {
      isTrusted,
      read: (file) => (file === marker && told.hasMarker ? "" : undefined),
      ask: async () => {
        told.asked++;
        return told.answer;
      },
      changed: () => told.news++,
    },
  );
  return { clock, log, told, sync };
}

test("timesyncd's mark says it at once, and nobody is asked", async () => {
  const { sync, told, clock } = board({ hasMarker: true });
  expect(sync.view()).toEqual({ state: "synced", source: "timesyncd" });
  await sync.run(new AbortController().signal);
  await clock.advance("10m");
  expect(told.asked).toBe(0);
});

test("without it systemd-timedated is asked every 30 s until it says yes, and never again", async () => {
  const { sync, told, clock, log } = board({ answer: "no\n" });
  const running = sync.run(new AbortController().signal);
  await clock.advance("89s");
  expect([sync.state(), told.asked]).toEqual(["unsynced", 3]);
  told.answer = "yes\n";
  await clock.advance("30s");
  await running;
  expect(sync.view()).toEqual({ state: "synced", source: "ntp" });
  await clock.advance("1h");
  expect([told.asked, told.news]).toEqual([4, 1]);
  expect(log.said("info")).toEqual(["clock synced"]);
});

test("a board without either stays unsynced, and notices the mark when it comes, between two looks too", async () => {
  const { sync, told, clock } = board();
  const stop = new AbortController();
  const running = sync.run(stop.signal);
  await clock.advance("5m");
  expect(sync.state()).toBe("unsynced");
  told.hasMarker = true;
  expect(sync.state()).toBe("synced");
  told.hasMarker = false;
  expect(sync.state()).toBe("synced");
  stop.abort();
  await running;
});

test("a clock that something else keeps is believed from the start, and nobody is asked", async () => {
  const { sync, told } = board({ isTrusted: true });
  await sync.run(new AbortController().signal);
  expect(sync.view()).toEqual({ state: "synced", source: "configured" });
  expect([told.asked, told.news]).toEqual([0, 0]);
});

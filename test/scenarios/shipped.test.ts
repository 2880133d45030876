import { expect, test } from "vitest";
import { failuresIn, inOrder, play, storyTimeout } from "./play.ts";

/** Stories wait more than they work: told at the same time, they take as long as the longest. */
const atOnce = { timeout: storyTimeout, concurrent: true };

test("zone-outage: a zone without power is given up; a leader that hears nothing gives up nobody", atOnce, async () => {
  expect(failuresIn(await play("--scenario", "zone-outage"))).toEqual([]);
});

test("leader-loss: when the leader loses its power another board leads the next term", atOnce, async () => {
  const story = await play("--scenario", "leader-loss");
  expect(failuresIn(story)).toEqual([]);
  expect(inOrder(story.lines, /do power-off leader \(pi-1\)/, /pi-[23] leads, term/, /pi-1 NotReady/)).toBe(true);
});

test("flapping-link: a board whose link flaps or is slow is not given up", atOnce, async () => {
  expect(failuresIn(await play("--scenario", "flapping-link"))).toEqual([]);
});

test("api-restart: nobody is blamed for the silence of the API server", atOnce, async () => {
  const story = await play("--scenario", "api-restart");
  expect(failuresIn(story)).toEqual([]);
  expect(inOrder(story.lines, /do restart api/, /the API server is gone/, /the API server is back/)).toBe(true);
});

test("rolling-update: daemons are rolled, and services lead to the pods that live", atOnce, async () => {
  const story = await play("--scenario", "rolling-update");
  expect(failuresIn(story)).toEqual([]);
  const rolled = /daemon monitor is up to date on every board/;
  const patterns = [
    /service web leads to 6 pods/,
    /do roll monitor/,
    rolled,
    /do power-off pi-3/,
    /service web leads to 4 pods/,
  ];
  expect(inOrder(story.lines, ...patterns, /do power-on pi-3/, /service web leads to 6 pods/)).toBe(true);
});

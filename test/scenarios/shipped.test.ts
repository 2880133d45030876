import { expect, test } from "vitest";
import { failuresIn, inOrder, play, storyTimeout } from "./play.ts";

/** Stories mostly wait, so running them concurrently takes only as long as the longest. */
const atOnce = { timeout: storyTimeout, concurrent: true };

test(
  "zone-outage: a zone without power is declared lost; a leader without heartbeats does not declare any board lost",
  atOnce,
  async () => {
    expect(failuresIn(await play("--scenario", "zone-outage"))).toEqual([]);
  },
);

test("leader-loss: when the leader loses power, another board leads the next term", atOnce, async () => {
  const story = await play("--scenario", "leader-loss");
  expect(failuresIn(story)).toEqual([]);
  expect(inOrder(story.lines, /do power-off leader \(pi-1\)/, /pi-[23] leads, term/, /pi-1 NotReady/)).toBe(true);
});

test("flapping-link: a board whose link flaps or is slow is not declared lost", atOnce, async () => {
  expect(failuresIn(await play("--scenario", "flapping-link"))).toEqual([]);
});

test("api-restart: no board is blamed for the silence of the API server", atOnce, async () => {
  const story = await play("--scenario", "api-restart");
  expect(failuresIn(story)).toEqual([]);
  expect(inOrder(story.lines, /do restart api/, /the API server is down/, /the API server is back/)).toBe(true);
});

test("rolling-update: daemons are rolled out, and services route to living pods", atOnce, async () => {
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

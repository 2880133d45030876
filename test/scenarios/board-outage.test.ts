import { expect, test } from "vitest";
import { failuresIn, inOrder, play, storyTimeout } from "./play.ts";

test("a board that loses its power is given up, its pods move, and it is taken back", {
  timeout: storyTimeout,
}, async () => {
  const story = await play("--scenario", "board-outage");
  expect(failuresIn(story)).toEqual([]);
  expect(
    inOrder(
      story.lines,
      /pi-1 leads, term/,
      /the story begins/,
      /do power-off pi-3/,
      /pi-3 NotReady/,
      /pi-3 tainted unreachable:NoExecute/,
      /web-\w+ is to leave pi-3/,
      /web-\w+ Running on pi-[12]/,
      /do power-on pi-3/,
      /pi-3 no longer tainted unreachable:NoExecute/,
    ),
    story.lines.join("\n"),
  ).toBe(true);
});

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { shipped } from "../support/shipped.ts";
import { failuresIn, inOrder, play, storyTimeout } from "./play.ts";

test("a board without power is declared lost, its pods move, and it is accepted again when it returns", {
  timeout: storyTimeout,
}, async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "siteward-outage-"));
  const story = await play("--scenario", "board-outage", "--dir", folder);
  expect(failuresIn(story)).toEqual([]);
  expect(
    inOrder(
      story.lines,
      /pi-1 leads, term/,
      /the story begins/,
      /do power-off pi-3/,
      /pi-3 NotReady/,
      /pi-3 tainted unreachable:NoExecute/,
      /web-\w+ terminating on pi-3/,
      /web-\w+ Running on pi-[12]/,
      /do power-on pi-3/,
      /pi-3 no longer tainted unreachable:NoExecute/,
    ),
    story.lines.join("\n"),
  ).toBe(true);

  // The agents have ended, so the former leader's records are read from its state folder.
  const why = (board: string, ...words: readonly string[]): string => {
    const at = path.join(folder, board);
    const asked = [shipped, "why", ...words, "--config", path.join(at, "siteward.yaml")];
    const { stdout, stderr } = spawnSync(process.execPath, asked, {
      encoding: "utf8",
      env: { SITEWARD_RUN_FOLDER: path.join(at, "run") },
    });
    return `${stdout}${stderr}`.replace(/\s+/g, " ");
  };
  expect(why("pi-1", "node/pi-3")).toMatch(
    /node\/pi-3 was tainted NoExecute at .* by pi-1 \(term \d+\), because pi-3 was silent for at least \w+ \(grace period 4s\)/,
  );
  expect(why("pi-1", "last")).toMatch(
    /^pod\/default\/web-\w+ was evicted from pi-3 at .* tainted NoExecute: .* evicted/,
  );
  expect(why("pi-2", "last")).toContain("this board, pi-2, has no record");

  // What real clocks measured is decided again, in another process.
  for (const [name, subject] of [
    ["taint.json", "node/pi-3"],
    ["eviction.json", "last"],
  ] as const) {
    const file = path.join(folder, name);
    expect(why("pi-1", subject, "--export", file)).toContain(`siteward replay ${file}`);
    const { status, stdout, stderr } = spawnSync(process.execPath, [shipped, "replay", file], { encoding: "utf8" });
    expect([status, stderr], stdout).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toMatchObject({ ruling: "act", verdict: "unproven" });
  }
  rmSync(folder, { recursive: true });
});

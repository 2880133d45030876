import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { failuresIn, play, storyTimeout } from "./play.ts";

test(
  "the scenario in simulator/README.md can be copied, and all its expectations are met",
  async () => {
    const page = readFileSync(path.resolve(import.meta.dirname, "../../simulator/README.md"), "utf8");
    const [, story = ""] = /```yaml\n([\s\S]*?)```/.exec(page) ?? [];
    const folder = mkdtempSync(path.join(os.tmpdir(), "siteward-story-"));
    try {
      const file = path.join(folder, "story.yaml");
      writeFileSync(file, story);
      expect(failuresIn(await play("--scenario", file))).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  storyTimeout,
);

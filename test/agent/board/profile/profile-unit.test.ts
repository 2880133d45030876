import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { readProfiles } from "../../../../agent/board/profile/profile.ts";
import { profileUnitText } from "../../../../agent/board/profile/profile-unit.ts";

const root = path.resolve(import.meta.dirname, "../../../..");
const profiles = readProfiles(path.join(root, "firmware-profiles"), "/nowhere").profiles;

test("the drop-in sets the profile's limits, and puts V8's flags into the variable that the unit's command line uses", () => {
  const zero = profiles.find(({ id }) => id === "raspberry-pi-zero-2-w");
  if (!zero) throw new Error("no such profile");
  const lines = profileUnitText(zero).split("\n");
  expect(lines).toContain(
    'Environment="SITEWARD_NODE_FLAGS=--max-old-space-size=40 --max-semi-space-size=1 --jitless"',
  );
  expect(lines).toContain("MemoryHigh=96M");
  expect(lines).toContain("MemoryMax=128M");
  const unit = readFileSync(path.join(root, "systemd/siteward.service"), "utf8");
  expect(unit).toMatch(/^ExecStart=.*\$SITEWARD_NODE_FLAGS /m);
});

test("every profile leaves the agent room between its own limits and those of systemd", () => {
  for (const { id, runtime, settings } of profiles) {
    const { memory } = settings as { memory: { soft: string; hard: string } };
    const [soft, hard] = [Number.parseInt(memory.soft, 10), Number.parseInt(memory.hard, 10)];
    expect(soft, id).toBeLessThan(hard);
    expect(soft, id).toBeLessThan(runtime.memoryHighMiB);
    expect(hard, id).toBeLessThan(runtime.memoryMaxMiB);
    expect(runtime.oldSpaceMiB, id).toBeLessThan(hard);
  }
});

test("the same profile gives the same text, so nothing is written unless something changed", () => {
  const [first] = profiles;
  if (!first) throw new Error("no profiles");
  expect(profileUnitText(first)).toBe(profileUnitText({ ...first }));
});

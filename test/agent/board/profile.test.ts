import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { ConfigError } from "../../../agent/base/errors.ts";
import { type Profile, profileFor, profileFrom, readProfiles } from "../../../agent/board/profile.ts";
import { loadConfig } from "../../../agent/config/load.ts";

const own = path.resolve(import.meta.dirname, "../../../firmware-profiles");
const folder = mkdtempSync(path.join(tmpdir(), "siteward-profiles-"));
afterAll(() => rmSync(folder, { recursive: true }));

const shipped = readProfiles([own]);

test.each([
  ["Raspberry Pi 4, 2 GiB", ["raspberrypi,4-model-b", "brcm,bcm2711"], 1879, "raspberry-pi-4"],
  ["Raspberry Pi 4, 1 GiB", ["raspberrypi,4-model-b", "brcm,bcm2711"], 906, "raspberry-pi-4-1g"],
  ["Compute Module 4", ["raspberrypi,4-compute-module", "brcm,bcm2711"], 3800, "raspberry-pi-4"],
  ["Raspberry Pi Zero 2 W", ["raspberrypi,model-zero-2-w", "brcm,bcm2837"], 416, "raspberry-pi-zero-2-w"],
  ["Raspberry Pi 5", ["raspberrypi,5-model-b", "brcm,bcm2712"], 7900, "raspberry-pi-5"],
  ["Orin Nano on a carrier", ["acme,carrier", "nvidia,p3767-0005", "nvidia,tegra234"], 7500, "jetson-orin-nano"],
  ["an unknown tiny board", ["acme,tiny"], 480, "generic-tiny"],
  ["an unknown small board", ["acme,small"], 900, "generic-small"],
  ["an unknown board", ["acme,big"], 4000, "generic"],
  ["a PC", [], 16_000, "generic"],
  ["a machine that tells nothing: small, to be safe", [], undefined, "generic-small"],
])("%s (%j, %s MiB) gets the profile %s", (_, compatible, ramMiB, id) => {
  expect(profileFor({ compatible, ramMiB }, shipped)?.id).toBe(id);
});

test("the earliest entry of the compatible list decides, whatever the order of the profiles", () => {
  const profile = (id: string, compatible: string[]): Profile => ({
    ...(shipped[0] as Profile),
    id,
    match: { compatible, ramMiB: [0, 10_000] },
  });
  const [board, chip] = [profile("board", ["acme,board"]), profile("chip", ["acme,chip"])];
  const facts = { compatible: ["acme,board", "acme,chip"], ramMiB: 1000 };
  expect(profileFor(facts, [chip, board])?.id).toBe("board");
  expect(profileFor(facts, [board, chip])?.id).toBe("board");
  expect(profileFor({ ...facts, compatible: ["acme,chip"] }, [board, chip])?.id).toBe("chip");
});

test("every shipped profile is named after its file, and its settings are good", () => {
  const files = readdirSync(own).filter((name) => name.endsWith(".json") && name !== "profile.schema.json");
  expect(files.sort()).toEqual(shipped.map(({ id }) => `${id}.json`).sort());
  for (const profile of shipped) {
    const { config } = loadConfig({ file: undefined, env: {}, hostname: "pi", profile });
    expect(config.cache.sqlite.cacheKiB, profile.id).toBeGreaterThanOrEqual(512);
    expect(profile.runtime.memoryHighMiB).toBeLessThan(profile.runtime.memoryMaxMiB);
  }
});

test("a profile of one's own replaces the shipped one of the same id", () => {
  const mine = { ...generic(), title: "mine", settings: { cache: { pageSize: 7 } } };
  writeFileSync(path.join(folder, "generic.json"), JSON.stringify(mine));
  const profiles = readProfiles([own, folder, path.join(folder, "nowhere")]);
  expect(profiles.filter(({ id }) => id === "generic").map(({ title }) => title)).toEqual(["mine"]);
  expect(profiles).toHaveLength(shipped.length);
});

test("all broken profiles are told at once, by file", () => {
  writeFileSync(path.join(folder, "a.json"), "{");
  writeFileSync(path.join(folder, "b.json"), JSON.stringify({ ...generic(), match: { ramMiB: [5] } }));
  const broken = (): readonly Profile[] => readProfiles([folder]);
  expect(broken).toThrow(ConfigError);
  expect(broken).toThrow(/a\.json: is not valid JSON.*b\.json: match\.ramMiB must be two whole numbers/s);
});

test.each([
  ["another schema", { schema: "siteward.profile/9" }, /must say "schema": "siteward\.profile\/1"/],
  ["an id with spaces", { id: "my board" }, /^id must be/],
  ["a turned range", { match: { ramMiB: [10, 5] } }, /the smaller one first/],
  ["a list of numbers", { match: { compatible: [1] } }, /must be a list of texts/],
  ["no runtime", { runtime: undefined }, /^runtime must give/],
  ["settings that are a list", { settings: [] }, /^settings must be an object/],
])("%s is refused with a sentence", (_, change, problem) => {
  expect(profileFrom({ ...generic(), ...change })).toMatch(problem);
});

function generic(): Readonly<Record<string, unknown>> {
  const { id, title, match, runtime, settings } = shipped.find((one) => one.id === "generic") as Profile;
  return { schema: "siteward.profile/1", id, title, match, runtime, settings };
}

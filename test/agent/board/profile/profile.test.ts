import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { ConfigError } from "../../../../agent/base/errors.ts";
import { type Profile, profileFor, profileFrom, readProfiles } from "../../../../agent/board/profile/profile.ts";
import { loadConfig } from "../../../../agent/config/load.ts";

const own = path.resolve(import.meta.dirname, "../../../../firmware-profiles");
const folder = mkdtempSync(path.join(tmpdir(), "siteward-profiles-"));
afterAll(() => rmSync(folder, { recursive: true }));

const { profiles: shipped } = readProfiles(own, "/nowhere");
const shippedGeneric = shipped.find((one) => one.id === "generic") as Profile;
const { runtime } = shippedGeneric;
const mine = path.join(folder, "mine");
beforeEach(() => {
  rmSync(mine, { recursive: true, force: true });
  mkdirSync(mine);
});
const put = (name: string, text: string | object): void =>
  writeFileSync(path.join(mine, name), typeof text === "string" ? text : JSON.stringify(text));

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
  ["a machine that reports nothing: small, to be safe", [], undefined, "generic-small"],
])("%s (%j, %s MiB) gets the profile %s", (_, compatible, ramMiB, id) => {
  expect(profileFor({ compatible, ramMiB }, shipped)?.id).toBe(id);
});

test("the earliest entry of the compatible list decides, regardless of the order of the profiles", () => {
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

test("every shipped profile is named after its file, and its settings are valid", () => {
  const files = readdirSync(own).filter((name) => name.endsWith(".json") && name !== "profile.schema.json");
  expect(files.sort()).toEqual(shipped.map(({ id }) => `${id}.json`).sort());
  for (const profile of shipped) {
    const { config } = loadConfig({ file: undefined, env: {}, hostname: "pi", profile });
    expect(config.cache.sqlite.cacheKiB, profile.id).toBeGreaterThanOrEqual(512);
    expect(profile.runtime.memoryHighMiB).toBeLessThan(profile.runtime.memoryMaxMiB);
  }
});

test("a custom profile replaces the shipped one of the same id, or is added", () => {
  put("generic.json", { ...generic(), title: "mine", settings: { cache: { pageSize: 7 } } });
  put("acme-one.json", { ...generic(), id: "acme-one", match: { compatible: ["acme,one"] } });
  const { profiles, problems } = readProfiles(own, mine);
  expect(problems).toEqual([]);
  const found = profiles.filter(({ id }) => id === "generic");
  expect(found.map(({ title, file }) => [title, file])).toEqual([["mine", path.join(mine, "generic.json")]]);
  expect(profiles).toHaveLength(shipped.length + 1);
  expect(profileFor({ compatible: ["acme,one"], ramMiB: 900 }, profiles)?.id).toBe("acme-one");
});

test.each<[what: string, name: string, text: string | object, problem: RegExp]>([
  ["that is truncated", "generic.json", '{"schema":', /is not valid JSON/],
  [
    "that is not a profile",
    "generic.json",
    { ...generic(), match: { ramMiB: [5] } },
    /ramMiB must be two whole numbers/,
  ],
  ["with an unknown setting", "generic.json", { ...generic(), settings: { cache: { pagesize: 7 } } }, /pageSize\?/],
  [
    "whose settings contradict each other",
    "generic.json",
    { ...generic(), settings: { leader: { duration: "10s", renewDeadline: "20s" } } },
    /renewDeadline/,
  ],
  ["with the id of another", "generic.old.json", generic(), /must be called generic\.json/],
])("a custom profile %s is reported with a hint, and the shipped profiles stay in force", (_, name, text, why) => {
  put(name, text);
  const { profiles, problems } = readProfiles(own, mine);
  expect(profiles).toEqual(shipped);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatch(why);
  expect(problems[0]).toContain(path.join(mine, name));
  expect(problems[0]).toMatch(/the file is ignored, and the shipped profiles apply; correct or remove it$/);
});

test("an unreadable folder is reported; a missing one is not", () => {
  expect(readProfiles(own, path.join(mine, "nowhere")).problems).toEqual([]);
  put("file", "");
  expect(readProfiles(own, path.join(mine, "file")).problems).toEqual([
    expect.stringContaining("mine/file: cannot be read"),
  ]);
});

test("all broken shipped profiles are reported together, by file", () => {
  put("a.json", "{");
  put("b.json", { ...generic(), match: { ramMiB: [5] } });
  const broken = () => readProfiles(mine, "/nowhere");
  expect(broken).toThrow(ConfigError);
  expect(broken).toThrow(/a\.json: is not valid JSON.*b\.json: match\.ramMiB must be two whole numbers/s);
});

test.each([
  ["another schema", { schema: "siteward.profile/9" }, /must contain "schema": "siteward\.profile\/1"/],
  ["an id with spaces", { id: "my board" }, /^id must be/],
  ["a misspelt condition", { match: { compatable: ["acme,one"] } }, /^match\.compatable/],
  ["a reversed range", { match: { ramMiB: [10, 5] } }, /the smaller one first/],
  ["a list of numbers", { match: { compatible: ["a", 1] } }, /^match\.compatible\[1\] must be a text/],
  ["no runtime", { runtime: undefined }, /^runtime is missing/],
  [
    "a runtime without a limit",
    { runtime: { ...runtime, memoryMaxMiB: undefined } },
    /^runtime\.memoryMaxMiB is missing/,
  ],
  [
    "a negative heap",
    { runtime: { ...runtime, oldSpaceMiB: -1 } },
    /^runtime\.oldSpaceMiB must be a whole number from 0/,
  ],
  ["settings that are a list", { settings: [] }, /^settings must be an object/],
])("%s is refused with a message", (_, change, problem) => {
  expect(profileFrom({ ...generic(), ...change }, "a.json")).toMatch(problem);
});

test("fields of a later version are ignored", () => {
  expect(profileFrom({ ...generic(), moon: 1, runtime: { ...runtime, moon: 1 } }, "a.json")).toMatchObject({
    id: "generic",
  });
});

function generic(): Readonly<Record<string, unknown>> {
  const { id, title, match, settings } = shippedGeneric;
  return { schema: "siteward.profile/1", id, title, match, runtime, settings };
}

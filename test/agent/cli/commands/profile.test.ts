import path from "node:path";
import { expect, test } from "vitest";
import { dispatch } from "../../../../agent/cli/dispatch.ts";
import { recordingIo } from "../../../support/recording-io.ts";

async function siteward(...argv: readonly string[]) {
  return await withEnv({}, ...argv);
}

async function withEnv(env: Readonly<Record<string, string>>, ...argv: readonly string[]) {
  const io = recordingIo({ home: path.resolve(import.meta.dirname, "../../../.."), env });
  const code = await dispatch(io, argv);
  return { code, out: io.out(), err: io.err() };
}

test("profile list names every profile, and marks the one of this board", async () => {
  const { code, out } = await siteward("profile", "list");
  expect(code).toBe(0);
  const lines = out.trimEnd().split("\n");
  const last = lines.pop();
  expect(lines.some((line) => line.includes("raspberry-pi-zero-2-w"))).toBe(true);
  expect(lines.filter((line) => line.startsWith("*"))).toHaveLength(1);
  const profiles = JSON.parse((await siteward("profile", "list", "--json")).out);
  expect(profiles).toHaveLength(lines.length);
  expect(profiles.filter(({ used }: { used: boolean }) => used)).toHaveLength(1);
  expect(profiles.every(({ id, file }: { id: string; file: string }) => file.endsWith(`/${id}.json`))).toBe(true);
  expect(last).toMatch(
    /^The others are from \S+\/firmware-profiles; put profiles of your own into \/etc\/siteward\/profiles\.d\.$/,
  );
});

test("profile detect and profile show agree on the profile of this board", async () => {
  const detected = JSON.parse((await siteward("profile", "detect", "--json")).out);
  const shown = JSON.parse((await siteward("profile", "show")).out);
  expect(shown.id).toBe(detected.profile);
  expect((await siteward("profile", "detect")).out).toContain(`Profile    ${shown.id}: `);
});

test("profile apply --print shows the drop-in of any profile, and writes nothing", async () => {
  const { code, out } = await siteward("profile", "apply", "--print", "raspberry-pi-zero-2-w");
  expect(code).toBe(0);
  expect(out).toContain("MemoryMax=128M");
  expect(out).toContain("--jitless");
});

test("board.profile overrides the detected profile, for the settings and for the unit", async () => {
  const env = { SITEWARD_BOARD_PROFILE: "raspberry-pi-zero-2-w" };
  expect(JSON.parse((await withEnv(env, "profile", "show")).out).id).toBe("raspberry-pi-zero-2-w");
  expect((await withEnv(env, "profile", "apply", "--print")).out).toContain("MemoryMax=128M");
  expect((await withEnv(env, "config", "explain", "cache.pageSize")).out).toContain("profile raspberry-pi-zero-2-w");
  expect((await withEnv(env, "profile", "list")).out).toMatch(/^\* raspberry-pi-zero-2-w/m);
  const wrong = await withEnv({ SITEWARD_BOARD_PROFILE: "raspberry-pi-9" }, "config", "show");
  expect(wrong.code).toBe(78);
  expect(wrong.err).toContain("there is no profile raspberry-pi-9");
});

test("an unknown profile is reported, with the command that lists the others", async () => {
  expect(await siteward("profile", "show", "huh")).toEqual({
    code: 64,
    out: "",
    err: 'siteward: there is no profile "huh"; siteward profile list shows all of them\n',
  });
  expect((await siteward("profile", "apply", "huh")).code).toBe(64);
});

test("inventory lists this machine's hardware, and leaves no tool running", async () => {
  const { code, out } = await siteward("inventory", "--json");
  expect(code).toBe(0);
  const { schema, memoryBytes, cpu } = JSON.parse(out);
  expect(schema).toBe("siteward.inventory/1");
  expect(memoryBytes).toBeGreaterThan(2 ** 27);
  expect(cpu.cores).toBeGreaterThan(0);
});

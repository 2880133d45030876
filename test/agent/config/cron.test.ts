import { expect, test } from "vitest";
import { parseCron, parseWindows } from "../../../agent/config/cron.ts";
import { loadConfig } from "../../../agent/config/load.ts";

test("the five fields of a crontab are parsed, with ranges, steps, lists and names", () => {
  expect(parseCron("*/20 8-10,22 1,15 * mon-fri")).toMatchObject({
    minutes: [0, 20, 40],
    hours: [8, 9, 10, 22],
    daysOfMonth: [1, 15],
    daysOfWeek: [1, 2, 3, 4, 5],
  });
  expect(parseCron("0 0 * * 7")?.daysOfWeek).toEqual([0]);
  expect(parseCron("@daily")).toMatchObject({ minutes: [0], hours: [0] });
});

test.each([
  "",
  "* * * *",
  "0 0 0 * * *",
  "60 0 * * *",
  "0 24 * * *",
  "0 0 31 2 *",
  "0 0 L * *",
  "0 0 * * 5#2",
  "a b c d e",
  "@reboot",
  "0 0 * * * ; rm",
])("%j is refused", (written) => {
  expect(parseCron(written)).toBeUndefined();
});

test.each([
  "0 22 * * *",
  "0 22 * * * for",
  "0 22 * * * for 8",
  "0 22 * * * for 8d",
  "0 22 * * * for 10s",
  ";",
  "for 8h",
])("%j is not a list of windows", (written) => {
  expect(parseWindows(written)).toBeUndefined();
});

test("invalid values in the environment or a profile are described in words", () => {
  const load = (value: string) =>
    loadConfig({
      file: undefined,
      env: { SITEWARD_QUIET_HOURS_WINDOWS: value },
      hostname: "pi",
      profile: undefined,
    });
  expect(load("0 22 * * * for 8h").config.quietHours.windows).toBe("0 22 * * * for 8h");
  expect(() => load("22 o'clock")).toThrow(/SITEWARD_QUIET_HOURS_WINDOWS: quietHours\.windows cannot be .*crontab/);
});

import { cron, windows } from "./cron.ts";
import { bytes, choice, duration, integer, number, optional, section, text } from "./schema.ts";

/** Settings of the board's sensors. A firmware profile knows better than the defaults. */
export const sensorSettings = {
  profile: optional(
    text("", "The firmware profile of this board, named in its own files.", {
      pattern: /^[a-z0-9-]{1,64}$/,
      accepts: "the id of a profile, such as raspberry-pi-4",
    }),
    "the one that fits the board best",
  ),
  timeZone: optional(
    text("", "The time zone in which upkeep.schedule and quietHours.windows are written.", {
      pattern: /^[A-Za-z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+){0,2}$/,
      accepts: "a name such as Europe/Berlin or UTC",
    }),
    "the board's own (/etc/localtime)",
  ),
  clock: choice(
    ["watched", "trusted"],
    "watched",
    "Whether the clock is believed once an NTP client has set it, or always: where a battery or a host keeps it.",
  ),
  sample: duration("30s", "How often the board's sensors are read.", { min: "5s", max: "10m" }),
  temperature: section("When the board is too hot. Trip points that the kernel names count instead.", {
    warn: integer(75, "Degrees Celsius from which on it is too warm.", { min: 30, max: 120 }),
    critical: integer(85, "Degrees Celsius from which on it is in danger.", { min: 30, max: 120 }),
    belowTrip: integer(5, "With trip points: so many degrees below the first of them it is too warm.", {
      min: 0,
      max: 40,
    }),
  }),
  freeSpace: bytes("200MiB", "Less free space in the state folder's file system is told.", {
    min: "1MiB",
    max: "100GiB",
  }),
  pressure: number(20, "Percent of the time that tasks wait for memory (avg10) from which on it is told.", {
    min: 1,
    max: 100,
  }),
  fsync: duration("200ms", "A write to the state folder's disk that takes longer is told by siteward doctor.", {
    min: "1ms",
    max: "10s",
  }),
} as const;

export const upkeepSettings = section("What the agent does for itself by the calendar.", {
  schedule: cron("17 3 * * *", "When the databases are checked and tidied, and the inventory is taken."),
});

export const quietHoursSettings = section("Hours in which nothing is evicted.", {
  windows: optional(windows("When they begin, and how long they last."), "there are none"),
});

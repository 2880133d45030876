import { cron, windows } from "./cron.ts";
import { bytes, choice, duration, integer, number, optional, section, text } from "./schema.ts";

/** Settings of the board and its sensors. */
export const sensorSettings = {
  profile: optional(
    text("", "The firmware profile of this board. Only the board's own files can set it.", {
      pattern: /^[a-z0-9-]{1,64}$/,
      accepts: "the id of a profile, such as raspberry-pi-4",
    }),
    "the one that fits the board best",
  ),
  timeZone: optional(
    text("", "The time zone of upkeep.schedule and quietHours.windows.", {
      pattern: /^[A-Za-z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+){0,2}$/,
      accepts: "a name such as Europe/Berlin or UTC",
    }),
    "the board's own (/etc/localtime)",
  ),
  clock: choice(
    ["watched", "trusted"],
    "watched",
    "watched: the clock is trusted once an NTP client has set it, or always if it has a battery or belongs to a virtual machine; trusted: always.",
  ),
  sample: duration("30s", "How often the board's sensors are read.", { min: "5s", max: "10m" }),
  temperature: section("When the board is too hot. If the kernel has trip points, these are used instead.", {
    warn: integer(75, "The board is too warm at this temperature and above, in degrees Celsius.", {
      min: 30,
      max: 120,
    }),
    critical: integer(85, "The board is in danger at this temperature and above, in degrees Celsius.", {
      min: 30,
      max: 120,
    }),
    belowTrip: integer(5, "With trip points, the board is too warm this many degrees below the lowest of them.", {
      min: 0,
      max: 40,
    }),
  }),
  freeSpace: bytes("200MiB", "Free space in the state folder's file system below which a problem is reported.", {
    min: "1MiB",
    max: "100GiB",
  }),
  pressure: number(
    20,
    "A problem is reported if tasks wait for memory during this percentage of the last ten seconds (avg10).",
    {
      min: 1,
      max: 100,
    },
  ),
  fsync: duration("200ms", "siteward doctor reports the state folder's disk if syncing a write takes longer.", {
    min: "1ms",
    max: "10s",
  }),
} as const;

export const upkeepSettings = section("The agent's scheduled maintenance.", {
  schedule: cron("17 3 * * *", "When the databases are checked and tidied, and the hardware inventory is taken."),
});

export const quietHoursSettings = section(
  "Daily or weekly hours in which no pod is evicted because its board is lost or not ready.",
  {
    windows: optional(windows("When the quiet hours begin, and how long they last."), "there are none"),
  },
);

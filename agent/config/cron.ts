import { parse } from "node-cron";
import { parseDuration } from "../base/duration.ts";
import { exactDuration } from "../base/exact-duration.ts";
import { type Setting, text } from "./schema.ts";

/** A schedule in local time. All of its fields must match, as in node-cron. */
export interface Cron {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly daysOfMonth: readonly number[];
  readonly months: readonly number[];
  /** 0 is Sunday. */
  readonly daysOfWeek: readonly number[];
}

/** A period that begins by a schedule; `lasts` is in milliseconds. */
export interface Window {
  readonly begins: Cron;
  readonly lasts: number;
}

/** The beginning of a window is searched for no further back than this. */
const longestWindow = 7 * 24 * 3_600_000;
const shortestWindow = 60_000;
/** Characters of a schedule, or of all windows together. */
const longest = 400;

/**
 * Five fields as in crontab(5), or a name such as `@daily`, parsed by node-cron; its seconds, and its days counted from
 * the end of a month, are refused. `undefined`: not a schedule.
 *
 * Only its grammar is used: its own matching asks ICU for the time zone, which costs the process 8 MB for good.
 */
export function parseCron(written: string): Cron | undefined {
  if (written.length > longest || (!/^@[a-z]+$/.test(written) && !hasUsualWords(written))) return undefined;
  if (!written.startsWith("@") && written.trim().split(/\s+/).length !== 5) return undefined;
  try {
    const { second, minute, hour, dayOfMonth, month, dayOfWeek } = parse(written);
    if (second.join() !== "0") return undefined;
    const [daysOfMonth, daysOfWeek] = [numbersIn(dayOfMonth), numbersIn(dayOfWeek)];
    if (!daysOfMonth || !daysOfWeek) return undefined;
    return { minutes: ascending(minute), hours: ascending(hour), daysOfMonth, months: month, daysOfWeek };
  } catch {
    return undefined;
  }
}

const names: ReadonlySet<string> = new Set(
  "january february march april may june july august september october november december sunday monday tuesday wednesday thursday friday saturday"
    .split(" ")
    .flatMap((name) => [name, name.slice(0, 3)]),
);

/**
 * Numbers of two digits at most, and names. node-cron replaces names by numbers wherever they stand, and expands ranges
 * before it checks the numbers: 1-MARMARMARMAR is a range up to 3333, and one of twenty digits has no end.
 */
const hasUsualWords = (written: string): boolean =>
  (written.match(/[a-z\d]+/gi) ?? []).every((word) => /^\d{1,2}$/.test(word) || names.has(word.toLowerCase()));

const ascending = (values: readonly number[]): readonly number[] => [...new Set(values)].sort((a, b) => a - b);

const numbersIn = (values: readonly (number | string)[]): readonly number[] | undefined => {
  const numbers = values.filter((value) => typeof value === "number");
  return numbers.length === values.length ? numbers : undefined;
};

/** "0 22 * * 1-5 for 8h; 0 0 * * 6 for 2d" */
export function parseWindows(written: string): readonly Window[] | undefined {
  if (written.length > longest) return undefined;
  const windows: Window[] = [];
  for (const one of written.split(";")) {
    const words = one.trim().split(/\s+/);
    const [between, length = ""] = words.slice(-2);
    const begins = parseCron(words.slice(0, -2).join(" "));
    const lasts = parseDuration(length);
    if (between !== "for" || !begins || lasts === undefined || lasts < shortestWindow || lasts > longestWindow)
      return undefined;
    windows.push({ begins, lasts });
  }
  return windows;
}

/** Any text in one line; `means` checks its content. */
const anyText = { pattern: /^[^\n]{1,400}$/, accepts: "" };

const meaning = (setting: Setting<string>, accepts: string, means: (written: string) => unknown): Setting<string> => ({
  ...setting,
  accepts,
  parse: (written) => {
    const value = setting.parse(written);
    return value !== undefined && means(value) !== undefined ? value : undefined;
  },
  parseText: (written) => (means(written) !== undefined ? setting.parseText(written) : undefined),
  // A schedule needs no quotes in YAML unless it begins with a star or an at sign.
  show: (value) => (/^\d[\d *,/-]*$/.test(value) ? value : setting.show(value)),
});

export const cron = (standard: string, sentence: string): Setting<string> =>
  meaning(
    text(standard, sentence, anyText),
    'five fields as in a crontab, such as "17 3 * * *", or @daily, @weekly, @monthly',
    parseCron,
  );

export const windows = (sentence: string): Setting<string> =>
  meaning(
    text("", sentence, anyText),
    `times such as "0 22 * * 1-5 for 8h; 0 0 * * 6 for 2d": a crontab's five fields and how long it lasts, from ` +
      `${exactDuration(shortestWindow)} to ${exactDuration(longestWindow)}`,
    parseWindows,
  );

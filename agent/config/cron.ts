import { parse } from "node-cron";
import { parseDuration } from "../base/time/duration.ts";
import { exactDuration } from "../base/time/exact-duration.ts";
import { type Setting, text } from "./schema.ts";

/**
 * A schedule in local time. It matches a minute if every field contains it (unlike in crontab(5), this includes both
 * day fields).
 */
export interface Cron {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly daysOfMonth: readonly number[];
  readonly months: readonly number[];
  /** 0 is Sunday. */
  readonly daysOfWeek: readonly number[];
}

/** A period that begins at the times of a schedule. `lasts`: in milliseconds. */
export interface CronWindow {
  readonly begins: Cron;
  readonly lasts: number;
}

/** In milliseconds. The search for a window's beginning extends only this far back. */
const maxWindow = 7 * 24 * 3_600_000;
const minWindow = 60_000;
/** Maximum length, in characters, of a schedule or of all windows together. */
const maxTextLength = 400;

/**
 * Parses five fields as in crontab(5), or a name such as `@daily`; undefined if the text is not a schedule. node-cron
 * parses it, but its extensions are refused: a field for seconds, and days counted from the end of a month.
 *
 * node-cron's matching is not used, because it loads ICU's time zones, which take 8 MB that are never freed.
 */
export function parseCron(written: string): Cron | undefined {
  if (written.length > maxTextLength || (!/^@[a-z]+$/.test(written) && !hasOnlyKnownWords(written))) return undefined;
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
 * True if the text has only numbers of up to two digits and names. Everything else is refused before node-cron parses
 * it: node-cron expands ranges before it checks their bounds, so a number of twenty digits would block the process. It
 * also replaces names anywhere, so that 1-MARMARMARMAR is a range up to 3333.
 */
const hasOnlyKnownWords = (written: string): boolean =>
  (written.match(/[a-z\d]+/gi) ?? []).every((word) => /^\d{1,2}$/.test(word) || names.has(word.toLowerCase()));

const ascending = (values: readonly number[]): readonly number[] => [...new Set(values)].sort((a, b) => a - b);

const numbersIn = (values: readonly (number | string)[]): readonly number[] | undefined => {
  const numbers = values.filter((value) => typeof value === "number");
  return numbers.length === values.length ? numbers : undefined;
};

/** Parses windows such as "0 22 * * 1-5 for 8h; 0 0 * * 6 for 2d"; undefined if the text is invalid. */
export function parseWindows(written: string): readonly CronWindow[] | undefined {
  if (written.length > maxTextLength) return undefined;
  const windows: CronWindow[] = [];
  for (const one of written.split(";")) {
    const words = one.trim().split(/\s+/);
    const [between, length = ""] = words.slice(-2);
    const begins = parseCron(words.slice(0, -2).join(" "));
    const lasts = parseDuration(length);
    if (between !== "for" || !begins || lasts === undefined || lasts < minWindow || lasts > maxWindow) return undefined;
    windows.push({ begins, lasts });
  }
  return windows;
}

/** Accepts any text in one line; `checked` then checks its content. */
const anyText = { pattern: /^[^\n]{1,400}$/, accepts: "" };

const checked = (setting: Setting<string>, accepts: string, check: (written: string) => unknown): Setting<string> => ({
  ...setting,
  accepts,
  parse: (written) => {
    const value = setting.parse(written);
    return value !== undefined && check(value) !== undefined ? value : undefined;
  },
  parseText: (written) => (check(written) !== undefined ? setting.parseText(written) : undefined),
  // YAML does not need quotes for a schedule, unless it begins with a star or an at sign.
  show: (value) => (/^\d[\d *,/-]*$/.test(value) ? value : setting.show(value)),
});

export const cron = (standard: string, sentence: string): Setting<string> =>
  checked(
    text(standard, sentence, anyText),
    'five fields as in a crontab, such as "17 3 * * *", or @daily, @weekly, @monthly',
    parseCron,
  );

export const windows = (sentence: string): Setting<string> =>
  checked(
    text("", sentence, anyText),
    `times such as "0 22 * * 1-5 for 8h; 0 0 * * 6 for 2d": a crontab's five fields and a duration, from ` +
      `${exactDuration(minWindow)} to ${exactDuration(maxWindow)}`,
    parseWindows,
  );

import { counted } from "../base/text/counted.ts";
import { type TerminalText, type Tone, withTone } from "../base/text/terminal-text.ts";
import { wrap } from "../base/text/wrap.ts";
import type { CheckLevel } from "./check-result.ts";
import type { Finding } from "./examination.ts";

const marks: Readonly<Record<CheckLevel, string>> = {
  ok: "[ok]",
  // A notice, not a fault.
  info: "[info]",
  warn: "[warn]",
  fail: "[FAIL]",
  skip: "[skip]",
};

const tones: Readonly<Record<CheckLevel, Tone>> = {
  ok: "good",
  info: "good",
  warn: "warn",
  fail: "bad",
  skip: "dim",
};

/** The width of the report in columns: that of the terminal, limited to the range from 60 to 120. */
export const reportWidth = ({ columns }: { readonly columns: number }): number => Math.max(60, Math.min(columns, 120));

/** One line per check, followed by its hint. */
export function findingLines(findings: readonly Finding[], width: number): readonly TerminalText[] {
  const wide = Math.max(...findings.map(({ id }) => id.length));
  return findings.flatMap(({ id, level, message, hint }) => {
    const mark = marks[level];
    const line = [withTone(tones[level], mark), `${" ".repeat(7 - mark.length)}${id.padEnd(wide)}  ${message}`];
    const under =
      hint === undefined || level === "skip" ? [] : hint.split("\n").flatMap((text) => wrap(text, width - 10));
    return [line, ...under.map((text, at) => `${at === 0 ? "       -> " : "          "}${text}`)];
  });
}

export function summaryLine(findings: readonly Finding[]): string {
  const count = (...levels: readonly CheckLevel[]): number =>
    findings.filter(({ level }) => levels.includes(level)).length;
  const [failed, warned, skipped] = [count("fail"), count("warn"), count("skip")];
  const result = failed + warned === 0 ? "no faults found" : `${failed} failed, ${warned} with a warning`;
  return `${counted(findings.length, "check")}: ${result}${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

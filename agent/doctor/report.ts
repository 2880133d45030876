import { wrap } from "../base/wrap.ts";
import type { Finding } from "./examination.ts";
import type { VerdictLevel } from "./verdict.ts";

const marks: Readonly<Record<VerdictLevel, string>> = {
  ok: "[ok]",
  // Worth knowing, and no fault.
  info: "[ok]",
  warn: "[warn]",
  fail: "[FAIL]",
  skip: "[skip",
};

const colours: Readonly<Record<VerdictLevel, string>> = { ok: "32", info: "32", warn: "33", fail: "31", skip: "2" };

/** One line for each check, its next step under it. */
export function findingLines(
  findings: readonly Finding[],
  { colour, width }: { readonly colour: boolean; readonly width: number },
): readonly string[] {
  const wide = Math.max(...findings.map(({ id }) => id.length));
  return findings.flatMap(({ id, level, message, hint }) => {
    const plain = level === "skip" ? `${marks.skip}: ${message}]` : marks[level];
    const mark = colour ? `\u001b[${colours[level]}m${plain}\u001b[0m` : plain;
    const line =
      level === "skip"
        ? `${mark} ${id}`
        : `${mark.padEnd(mark.length - plain.length + 6)} ${id.padEnd(wide)}  ${oneLine(message)}`;
    const under =
      hint === undefined || level === "skip" ? [] : hint.split("\n").flatMap((text) => wrap(text, width - 10));
    return [line, ...under.map((text, at) => `${at === 0 ? "       -> " : "          "}${text}`)];
  });
}

const oneLine = (text: string): string => text.replace(/\s*\n\s*/g, " ");

export function summaryLine(findings: readonly Finding[]): string {
  const count = (...levels: readonly VerdictLevel[]): number =>
    findings.filter(({ level }) => levels.includes(level)).length;
  const [failed, warned, skipped] = [count("fail"), count("warn"), count("skip")];
  const well = failed + warned === 0 ? "nothing wrong found" : `${failed} failed, ${warned} with a warning`;
  return `${findings.length} checks: ${well}${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

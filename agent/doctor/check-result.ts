/**
 * The result of a check. ok: no fault. info: a notice, not a fault. warn: it works, but not properly. fail: it does not
 * work until an operator acts. skip: not checked.
 */
export type CheckLevel = "ok" | "info" | "warn" | "fail" | "skip";

export interface CheckResult {
  readonly level: CheckLevel;
  /** One line; for a skipped check, the reason. */
  readonly message: string;
  /** What the operator can do. */
  readonly hint?: string | undefined;
}

const resultOf =
  (level: CheckLevel) =>
  (message: string, hint?: string): CheckResult => ({ level, message, ...(hint !== undefined && { hint }) });

export const ok = resultOf("ok");
export const info = resultOf("info");
export const warn = resultOf("warn");
export const fail = resultOf("fail");
export const skip = (reason: string): CheckResult => ({ level: "skip", message: reason });

/** The verdict of a check that needs the API server, if the server could not be reached; api.tls reports why. */
export const unreached = skip("the API server was not reached (api.tls)");

const gravity: Readonly<Record<CheckLevel, number>> = { fail: 0, warn: 1, info: 2, ok: 3, skip: 4 };

/** Combines several verdicts of one check into one with the most severe level, and all messages of that level. */
export function gravest(results: readonly CheckResult[]): CheckResult {
  const sorted = [...results].sort((a, b) => gravity[a.level] - gravity[b.level]);
  const [worst] = sorted;
  if (worst === undefined) return skip("there is nothing to check");
  const same = sorted.filter(({ level }) => level === worst.level);
  const hint = same.find((one) => one.hint !== undefined)?.hint;
  return { level: worst.level, message: same.map(({ message }) => message).join("; "), ...(hint && { hint }) };
}

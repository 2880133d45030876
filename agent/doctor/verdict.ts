/**
 * Result of a check. ok: as it should be. info: worth knowing, but no fault. warn: works, but not as it should. fail:
 * will not work until a person acts. skip: not checked, with the reason.
 */
export type VerdictLevel = "ok" | "info" | "warn" | "fail" | "skip";

export interface Verdict {
  readonly level: VerdictLevel;
  /** One line; for a skipped check the reason. */
  readonly message: string;
  /** The next step. */
  readonly hint?: string | undefined;
}

const verdict =
  (level: VerdictLevel) =>
  (message: string, hint?: string): Verdict => ({ level, message, ...(hint !== undefined && { hint }) });

export const ok = verdict("ok");
export const info = verdict("info");
export const warn = verdict("warn");
export const fail = verdict("fail");
export const skip = (reason: string): Verdict => ({ level: "skip", message: reason });

/** The reason is reported once, by that check. */
export const unreached = skip("the API server was not reached (api.tls)");

const gravity: Readonly<Record<VerdictLevel, number>> = { fail: 0, warn: 1, info: 2, ok: 3, skip: 4 };

/** Combines the verdicts of one check: the most severe level, with all messages of that level. */
export function gravest(verdicts: readonly Verdict[]): Verdict {
  const sorted = [...verdicts].sort((a, b) => gravity[a.level] - gravity[b.level]);
  const [worst] = sorted;
  if (worst === undefined) return skip("there is nothing to look at");
  const same = sorted.filter(({ level }) => level === worst.level);
  const hint = same.find((one) => one.hint !== undefined)?.hint;
  return { level: worst.level, message: same.map(({ message }) => message).join("; "), ...(hint && { hint }) };
}

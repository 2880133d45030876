import { readdirSync } from "node:fs";
import { type CheckResult, ok, warn } from "../check-result.ts";

/**
 * Checks that commands must be signed, because without a trusted key, only the broker's ACL decides who may command
 * this board.
 */
export function signKeys(folder: string, hasFleet: boolean): CheckResult {
  let names: readonly string[] = [];
  try {
    names = readdirSync(folder).filter((name) => name.endsWith(".pub"));
  } catch {
    // A missing folder contains no keys.
  }
  if (names.length > 0)
    return ok(`commands must be signed by ${names.map((name) => name.replace(/\.pub$/, "")).join(", ")}`);
  if (!hasFleet) return ok("no keys, but also no fleet that could send commands");
  return warn(
    "no trusted key is installed: any client that may publish to the broker can command this board",
    `Run siteward keygen on the operator's machine, and put the .pub file into ${folder}.`,
  );
}

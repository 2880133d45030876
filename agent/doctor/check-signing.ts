import { readdirSync } from "node:fs";
import { ok, type Verdict, warn } from "./verdict.ts";

/** Without a trusted key, the broker alone decides who may command this board. */
export function signKeys(folder: string, hasFleet: boolean): Verdict {
  let names: readonly string[] = [];
  try {
    names = readdirSync(folder).filter((name) => name.endsWith(".pub"));
  } catch {
    // A missing folder holds no keys.
  }
  if (names.length > 0)
    return ok(`commands must be signed by ${names.map((name) => name.replace(/\.pub$/, "")).join(", ")}`);
  if (!hasFleet) return ok("no keys, and no fleet that sends commands");
  return warn(
    "no trusted key is installed: whoever may write to the broker may command this board",
    `siteward keygen on the operator's machine; put the .pub file into ${folder}`,
  );
}

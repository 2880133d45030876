import { createPrivateKey, X509Certificate } from "node:crypto";
import { statSync } from "node:fs";
import type { Instant, Millis } from "../../base/clock.ts";
import { formatDuration } from "../../base/time/duration.ts";
import { isoTime } from "../../base/time/iso-time.ts";
import { noPermission, readText } from "../../config/read-text.ts";
import { type CheckResult, fail, ok, skip, warn } from "../check-result.ts";

/** A certificate that expires within this time is reported, because the doctor may be run only once a month. */
const endsSoon: Millis = 30 * 86_400_000;

/** Checks a certificate's validity period by this board's clock, as TLS does. */
export function checkLifetime(what: string, pem: string, now: Instant): CheckResult {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(pem);
  } catch {
    return fail(`${what} is not a PEM certificate`, "Copy the whole file again.");
  }
  const [begin, end] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
  const clock = "If the certificate should be valid, this board's clock may be wrong (clock.sync).";
  if (end < now.wall) return fail(`${what} expired on ${isoTime(end).slice(0, 10)}`, `Issue a new one. ${clock}`);
  if (begin > now.wall) return fail(`${what} is not valid before ${isoTime(begin).slice(0, 16)}Z`, clock);
  const left = end - now.wall;
  if (left < endsSoon) return warn(`${what} expires in ${formatDuration(left)}`, "Issue a new one in time.");
  return ok(`${what} is valid until ${isoTime(end).slice(0, 10)}`);
}

/** Why a key cannot be used: it is unreadable, or does not belong to its certificate. Undefined if it can be used. */
export function keyProblem(what: string, certificate: string, key: string): CheckResult | undefined {
  try {
    if (new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))) return undefined;
    return fail(`${what} does not belong to its certificate`, "Copy the key and the certificate from the same place.");
  } catch {
    return fail(`${what} is not a readable PEM key`, "Copy the whole file again, without a passphrase.");
  }
}

/** A warning if every user can read a secret file; undefined if only its owner and group can. */
export function modeProblem(file: string): CheckResult | undefined {
  const mode = (statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o777;
  if ((mode & 0o007) === 0) return undefined;
  return warn(`${file} can be read by every user (mode ${mode.toString(8)})`, `chmod 600 ${file}`);
}

/**
 * Reads a PEM file. If it cannot be read, the verdict says why. `option`: the option of `siteward enroll` for the file.
 */
export function pemFile(
  what: string,
  file: string,
  option: string,
): { readonly pem: string } | { readonly verdict: CheckResult } {
  const found = readText(file);
  if ("text" in found) return { pem: found.text };
  const message = `${what}: ${file} ${found.problem}`;
  if (found.problem.startsWith(noPermission)) return { verdict: skip(`${what}: ${file} cannot be read by this user`) };
  return { verdict: fail(message, `Install it: sudo siteward enroll with --mqtt and ${option}.`) };
}

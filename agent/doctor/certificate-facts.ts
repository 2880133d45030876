import { createPrivateKey, X509Certificate } from "node:crypto";
import { statSync } from "node:fs";
import type { Instant, Millis } from "../base/clock.ts";
import { formatDuration } from "../base/duration.ts";
import { isoTime } from "../base/iso-time.ts";
import { noPermission, readText } from "../config/read-text.ts";
import { fail, ok, skip, type Verdict, warn } from "./verdict.ts";

/** Early enough for a monthly check. */
const endsSoon: Millis = 30 * 86_400_000;

/** Judges a certificate's validity by this board's clock, which TLS uses as well. */
export function lifeVerdict(what: string, pem: string, now: Instant): Verdict {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(pem);
  } catch {
    return fail(`${what} is no PEM certificate`, "Copy it again, whole.");
  }
  const [begin, end] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
  const clock = "If it should be valid, this board's clock is wrong (clock.sync).";
  if (end < now.wall) return fail(`${what} expired on ${isoTime(end).slice(0, 10)}`, `Issue a new one. ${clock}`);
  if (begin > now.wall) return fail(`${what} is valid only from ${isoTime(begin).slice(0, 16)}Z on`, clock);
  const left = end - now.wall;
  if (left < endsSoon) return warn(`${what} ends in ${formatDuration(left)}`, "Issue a new one in time.");
  return ok(`${what} is good until ${isoTime(end).slice(0, 10)}`);
}

/** Checks that a key belongs to its certificate; undefined: it does. */
export function keyProblem(what: string, certificate: string, key: string): Verdict | undefined {
  try {
    if (new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))) return undefined;
    return fail(`${what} does not belong to its certificate`, "Copy both from the same place.");
  } catch {
    return fail(`${what} is no readable PEM key`, "Copy it again, whole; without a passphrase.");
  }
}

/** Warns if a secret file is readable by others; undefined: only by its owner and group. */
export function modeProblem(file: string): Verdict | undefined {
  const mode = (statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o777;
  if ((mode & 0o007) === 0) return undefined;
  return warn(`${file} can be read by everybody (mode ${mode.toString(8)})`, `chmod 600 ${file}`);
}

/** Reads a PEM file, or says why it cannot. `option`: the option of `siteward enroll` that installs it. */
export function pemFile(
  what: string,
  file: string,
  option: string,
): { readonly pem: string } | { readonly verdict: Verdict } {
  const found = readText(file);
  if ("text" in found) return { pem: found.text };
  const told = `${what}: ${file} ${found.problem}`;
  if (found.problem.startsWith(noPermission)) return { verdict: skip(`${what}: ${file} may not be read`) };
  return { verdict: fail(told, `sudo siteward enroll with --mqtt and ${option} puts it there.`) };
}

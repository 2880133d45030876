import type { Millis } from "../../base/clock.ts";
import type { Fault } from "../../config/remote-record.ts";
import { signatureFault, verifySignature } from "./checks.ts";
import type { SignedMessage } from "./request.ts";
import { forbids, type Trust } from "./trust.ts";

/** The entry among the commands in a key's limits that allows the key to sign documents of config/desired. */
const settingsName = "config.desired";

/**
 * Why a document of config/desired must be refused; undefined if its signature is valid, or none is required. As soon
 * as a key is installed, settings must be signed, like commands. They need no counter, because their version only
 * rises.
 */
export function unsignedSettings(document: SignedMessage, trust: Trust, wall: Millis): Fault | undefined {
  if (!trust.isInstalled) return undefined;
  const signature = verifySignature(document, trust);
  if (signature.is !== "valid")
    return { path: "", code: `signature-${signature.is}`, message: signatureFault(signature.is, "document") };
  const message = forbids(signature.key, settingsName, "board", wall);
  return message === undefined ? undefined : { path: "", code: "forbidden", message };
}

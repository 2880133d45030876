import { createHash } from "node:crypto";
import { isRecord } from "../../base/json.ts";
import { type Fault, type Kept, maxVersion } from "../../config/remote-record.ts";
import { memberText } from "./member-text.ts";

/** A document of config/desired as received. */
export interface DesiredMessage {
  readonly payload: Uint8Array;
  /** Why it is refused for a bad or missing signature; undefined if it is not. */
  readonly refusal?: Fault | undefined;
}

/** Maximum size of an accepted document, in bytes: several times the size of all settings together. */
const maxPayloadBytes = 32 * 1024;
/** Maximum nesting depth of a document. */
const deepest = 10;

export type Desired =
  | { readonly kind: "document"; readonly document: Kept; readonly canaryMs: number | undefined }
  /** An invalid document; `version` is undefined if it cannot be read. */
  | { readonly kind: "malformed"; readonly version: number | undefined; readonly hash: string; readonly fault: Fault }
  /** The topic was cleared. */
  | { readonly kind: "nothing" };

/**
 * Parses a document of config/desired: `{"v":1,"version":43,"config":{…}}`, with an optional `"canarySeconds"` for the
 * length of the trial.
 */
export function parseDesired(payload: Uint8Array): Desired {
  if (payload.byteLength === 0) return { kind: "nothing" };
  let hash = hashOf(payload);
  const malformed = (message: string, version?: number): Desired => ({
    kind: "malformed",
    version,
    hash,
    fault: { path: "", code: "schema", message },
  });
  if (payload.byteLength > maxPayloadBytes) return malformed(`is larger than ${maxPayloadBytes} bytes`);
  let [text, value]: [string, unknown] = ["", undefined];
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(payload);
    value = JSON.parse(text);
  } catch {
    return malformed("is not JSON");
  }
  if (!isRecord(value)) return malformed("is not an object");
  // Only the settings are hashed, so the same settings under another version have the same hash.
  hash = hashOf(memberText(text, "config") ?? payload);
  const { v, version, config, canarySeconds, ...more } = value;
  if (typeof version !== "number" || !Number.isInteger(version) || version < 1 || version > maxVersion)
    return malformed(`version must be a whole number from 1 to ${maxVersion}`);
  if (v !== 1) return malformed("v must be 1", version);
  const [unknown] = Object.keys(more);
  if (unknown !== undefined) return malformed(`${unknown.slice(0, 40)} is not a known member`, version);
  if (!isRecord(config)) return malformed("config must be an object", version);
  if (isDeeper(value, deepest)) return malformed(`is nested deeper than ${deepest}`, version);
  const isTime = typeof canarySeconds === "number" && canarySeconds >= 5 && canarySeconds <= 3600;
  if (canarySeconds !== undefined && !isTime) return malformed("canarySeconds must be from 5 to 3600", version);
  return {
    kind: "document",
    document: { version, hash, config },
    canaryMs: isTime ? canarySeconds * 1000 : undefined,
  };
}

const hashOf = (bytes: Uint8Array | string): string => createHash("sha256").update(bytes).digest("hex");

function isDeeper(value: unknown, most: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return most === 0 || Object.values(value).some((inner) => isDeeper(inner, most - 1));
}

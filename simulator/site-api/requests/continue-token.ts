import { isJsonObject, type JsonValue } from "../../../agent/api/json.ts";
import { badRequest } from "./failure.ts";

/**
 * Where a list continues: after which key (`after`), and at which revision (`at`; undefined for the newest at that
 * time).
 */
export interface Continuation {
  readonly at: number | undefined;
  readonly after: string;
}

const version = "siteward/v1";

export const continueToken = (at: number | undefined, after: string): string =>
  Buffer.from(JSON.stringify({ v: version, at: at ?? -1, after })).toString("base64url");

export function readToken(text: string): Continuation {
  const token = parsed(Buffer.from(text, "base64url").toString());
  if (!isJsonObject(token) || token.v !== version || typeof token.at !== "number" || typeof token.after !== "string") {
    throw badRequest("invalid continue token: it was not made by this server");
  }
  return { at: token.at < 0 ? undefined : token.at, after: token.after };
}

function parsed(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return null;
  }
}

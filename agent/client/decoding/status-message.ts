import type { ParsedFields } from "../../api/shape-rules.ts";
import { list, message, number, ProtobufError, part, pointer, readEnvelope, text } from "./protobuf.ts";

/*
 * Field numbers of k8s.io/apimachinery 1.36 (meta/v1), because clients that accept protobuf also receive errors as
 * protobuf.
 */

const cause = message({ 1: text("reason"), 2: text("message"), 3: text("field") });
const details = message({
  1: text("name"),
  3: text("kind"),
  4: list("causes", cause),
  5: number("retryAfterSeconds"),
});
const status = message({
  2: text("status"),
  3: text("message"),
  4: text("reason"),
  5: part("details", details),
  6: pointer(number("code")),
});

/** Parses a Status in Kubernetes' protobuf form; undefined if the body is something else. */
export function statusMessage(body: Buffer): ParsedFields | undefined {
  try {
    return readEnvelope(body, "Status", status);
  } catch (error) {
    if (error instanceof ProtobufError) return undefined;
    throw error;
  }
}

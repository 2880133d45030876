import { sentenceOf } from "../../base/errors.ts";
import type { JsonRecord } from "../../base/json.ts";
import { ApiError } from "../../client/api-error.ts";
import { missingIn } from "../../client/permissions.ts";
import { LeaseNotWrittenError } from "../../election/lease-write.ts";
import { FencedError } from "../../execution/fence.ts";
import { type Effect, refused } from "../desk/controls.ts";

export const notLeading = refused(421, "not-leader", "another board leads", {});

const grant = "grant the agent's user this permission (rbac.yaml of this version has it) and repeat the command";

/** The effect of a command that failed, possibly after taking partial effect. */
export function failedEffect(error: unknown, result: JsonRecord = {}): Effect {
  const [code, word] = kindOf(error);
  const remedy = missingIn(error) ? `; ${grant}` : "";
  return { outcome: "failed", code, error: word, message: `${sentenceOf(error)}${remedy}`, result };
}

function kindOf(error: unknown): readonly [code: number, error: string] {
  if (error instanceof FencedError) return [503, "leadership-lost"];
  if (error instanceof LeaseNotWrittenError) return [503, "not-written"];
  if (!(error instanceof ApiError)) return [500, "internal"];
  if (error.status === 0) return [503, "api-unavailable"];
  return [error.status, error.status === 403 ? "forbidden" : "api-refused"];
}

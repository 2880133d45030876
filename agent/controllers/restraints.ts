import { elapsed, type Instant } from "../base/clock.ts";
import type { Restraint } from "../decisions/grounds.ts";
import type { Freeze } from "../holds/holds.ts";

export const freezeRestraint = ({ scope, target, by, reason, end }: Freeze, now: Instant): Restraint => ({
  why: "freeze",
  scope,
  ...(target !== undefined && { target }),
  by,
  ...(reason !== undefined && { reason }),
  leftMs: Math.round(elapsed(now, end)),
});

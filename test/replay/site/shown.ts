import type { Node, NodeCondition, Taint } from "../../../agent/api/core.ts";
import { isSameTaint, taintsOf } from "../../../agent/api/taints.ts";
import type { Millis } from "../../../agent/base/clock.ts";
import type { CaseTime } from "./case-time.ts";
import { showTaint } from "./taint-text.ts";

/** A condition with its times in milliseconds of the case. */
export interface ShownCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string | undefined;
  readonly message: string | undefined;
  readonly heartbeatMs: Millis | undefined;
  readonly transitionMs: Millis | undefined;
}

type AnyCondition = Pick<NodeCondition, "type" | "status"> & Partial<NodeCondition>;

export const showCondition = (condition: AnyCondition, time: CaseTime): ShownCondition => ({
  type: condition.type,
  status: condition.status,
  reason: condition.reason,
  message: condition.message,
  heartbeatMs: time.msOf(condition.lastHeartbeatTime),
  transitionMs: time.msOf(condition.lastTransitionTime),
});

export const conditionSchema = {
  type: "object",
  properties: {
    type: { type: "string", description: "Ready, MemoryPressure, DiskPressure, PIDPressure, ..." },
    status: { type: "string", enum: ["True", "False", "Unknown"] },
    reason: { type: "string", description: "NodeStatusUnknown, NodeStatusNeverUpdated, or what the kubelet wrote." },
    message: { type: "string" },
    heartbeatMs: { type: "number", description: "lastHeartbeatTime, in ms of the case." },
    transitionMs: { type: "number", description: "lastTransitionTime, in ms of the case." },
  },
};

export interface TaintChange {
  readonly taint: string;
  /** renewed: it existed before with a different timeAdded. */
  readonly change: "added" | "removed" | "renewed";
}

export function taintChanges(before: Node | undefined, after: Node): readonly TaintChange[] {
  const had = before === undefined ? [] : taintsOf(before);
  const has = taintsOf(after);
  const changeOf = (taint: Taint): TaintChange["change"] | undefined => {
    const old = had.find((one) => isSameTaint(one, taint));
    if (old === undefined) return "added";
    return old.timeAdded === taint.timeAdded ? undefined : "renewed";
  };
  return [
    ...has.flatMap((taint) => {
      const change = changeOf(taint);
      return change === undefined ? [] : [{ taint: showTaint(taint), change }];
    }),
    ...had
      .filter((taint) => !has.some((one) => isSameTaint(one, taint)))
      .map((taint) => ({ taint: showTaint(taint), change: "removed" }) as const),
  ];
}

import type { MoveFacts, StayReason } from "../decisions/grounds.ts";

/**
 * Why a pod stays on its silent board: because its annotation says so or, without one, because an eviction would gain
 * nothing; undefined if a second copy can start elsewhere. A silent board may still run the pod; if the pod was
 * evicted, the board kills it when it returns (docs/judgement.md#what-an-eviction-would-gain).
 */
export function reasonToStay({ owner, wish, obstacle }: MoveFacts): StayReason | undefined {
  switch (wish) {
    case "hold":
      return "asked";
    case "unknown":
      return "asked unclearly";
    case "replace-when-lost":
      return undefined;
    case undefined:
      return owner === "other" ? obstacle : reasonOf[owner];
    default:
      return wish satisfies never;
  }
}

const reasonOf = { none: "no owner", StatefulSet: "StatefulSet", DaemonSet: "DaemonSet" } as const;

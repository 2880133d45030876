import type { Pod } from "../../api/core.ts";

/**
 * A pod whose newest state cannot be read: it stays bound and uses capacity of the board, but is not ready and has no
 * address, so no Service routes traffic to an address that it may have lost.
 */
export const unreadPod = ({ status, ...pod }: Pod): Pod => ({
  ...pod,
  status: {
    ...(status?.phase !== undefined && { phase: status.phase }),
    ...(status?.reason !== undefined && { reason: status.reason }),
    conditions: (status?.conditions ?? []).filter(({ type }) => type !== "Ready" && type !== "ContainersReady"),
  },
});

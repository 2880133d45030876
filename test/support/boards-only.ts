/**
 * Only the controllers of boards, for stories in which a watch counts as stalled within seconds: a watch of Services or
 * DaemonSets receives nothing between two bookmarks, which are a minute apart.
 */
export const boardsOnly = {
  daemonSet: { mode: "off" },
  endpoints: { mode: "off" },
  endpointSlice: { mode: "off" },
  endpointSliceMirroring: { mode: "off" },
} as const;

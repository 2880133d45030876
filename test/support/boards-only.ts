/**
 * The controllers of boards and no others, for stories in which a watch counts as stalled within seconds: of a Service or a
 * DaemonSet nothing is heard between two bookmarks, which are a minute apart.
 */
export const boardsOnly = {
  daemonSet: { mode: "off" },
  endpoints: { mode: "off" },
  endpointSlice: { mode: "off" },
  endpointSliceMirroring: { mode: "off" },
} as const;

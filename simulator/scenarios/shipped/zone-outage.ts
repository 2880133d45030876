export const zoneOutage = `\
name: zone-outage
description: >
  The power of one zone fails, and its boards are declared lost one by one. Then the rest of the site is cut off: a leader
  without heartbeats does not declare any board lost, not even when they return.
boards: 4
zones: 2
workloads:
  - { name: web, replicas: 8, toleration: 2s }

kubelet: { renew: 1s, look: 1s }
config:
  leader: { duration: 6s, renewDeadline: 4s, retry: 1s, followers: poll }
  nodeLifecycle: { monitorPeriod: 500ms, gracePeriod: 4s, startupGracePeriod: 4s, evictionRate: 0.5 }

steps:
  - at: 1s
    do: { power-off: zone-b }
  - at: 1s
    expect: { not-ready: zone-b, within: 8s }
  - at: 1s
    expect: { tainted: zone-b, within: 14s }
  - at: 1s
    expect: { evicted: zone-b, within: 18s }
  - at: 1s
    expect: { kept: zone-a, for: 18s }

  # The rest is cut off, and the leader with it, for longer than the grace period and longer than its term.
  - at: 20s
    do: { cut: zone-a }
  - at: 27s
    do: { restore: zone-a }
  - at: 27s
    expect: { kept: zone-a, not-tainted: zone-a, for: 9s }
  - at: 27s
    expect: { leader: any, ready: zone-a, within: 9s }
`;

export const apiRestart = `\
name: api-restart
description: >
  The API server is down for longer than the grace period. No board is blamed for heartbeats that could not arrive.
boards: 3
zones: 2
workloads:
  - { name: web, replicas: 6, toleration: 2s }

kubelet: { renew: 1s, look: 1s }
config:
  leader: { duration: 6s, renewDeadline: 4s, retry: 1s, followers: poll }
  nodeLifecycle: { monitorPeriod: 500ms, gracePeriod: 4s, startupGracePeriod: 4s, evictionRate: 1 }

steps:
  # Shorter than the leader's renewal deadline: it stays.
  - at: 1s
    do: { restart: api, for: 2s }
  - at: 3s
    expect: { leader: same, term: same, kept: all, for: 4s }

  # Longer than the grace period.
  - at: 8s
    do: { restart: api, for: 7s }
  - at: 8s
    expect: { kept: all, not-tainted: all, for: 18s }
  - at: 15s
    expect: { leader: any, ready: all, within: 12s }
`;

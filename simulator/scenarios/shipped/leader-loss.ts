export const leaderLoss = `\
name: leader-loss
description: >
  The leader loses power. Another board leads the next term, and evicts the pods of the lost one.
boards: 3
zones: 1
workloads:
  - { name: web, replicas: 6, toleration: 2s }

kubelet: { renew: 1s, look: 1s }
config:
  leader: { duration: 6s, renewDeadline: 4s, retry: 1s, followers: poll }
  nodeLifecycle: { monitorPeriod: 500ms, gracePeriod: 4s, startupGracePeriod: 4s, evictionRate: 1 }

steps:
  - at: 0s
    expect: { leader: any }
  - at: 1s
    do: { power-off: leader }
  # The duration of the Lease plus five seconds.
  - at: 1s
    expect: { leader: changed, term: next, within: 11s }
  - at: 1s
    expect: { not-ready: hit, within: 18s }
  - at: 1s
    expect: { evicted: hit, within: 24s }

  - at: 26s
    do: { power-on: hit }
  - at: 26s
    expect: { ready: all, not-tainted: all, within: 8s }
  - at: 26s
    expect: { leader: same, term: same, for: 8s }
`;

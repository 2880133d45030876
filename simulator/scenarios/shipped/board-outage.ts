export const boardOutage = `\
name: board-outage
description: >
  A board loses power. The site detects it, its pods move to the others, and it is accepted again when it returns.
boards: 3
zones: 2
workloads:
  - { name: web, replicas: 6, toleration: 2s }

# Everything is shorter than on a real site, so that the story fits into half a minute.
kubelet: { renew: 1s, look: 1s }
config:
  leader: { duration: 6s, renewDeadline: 4s, retry: 1s, followers: poll }
  nodeLifecycle: { monitorPeriod: 500ms, gracePeriod: 4s, startupGracePeriod: 4s, evictionRate: 1 }

steps:
  - at: 1s
    do: { power-off: pi-3 }
  - at: 1s
    expect: { not-ready: pi-3, within: 8s }
  - at: 1s
    expect: { tainted: pi-3, within: 12s }
  - at: 1s
    expect: { evicted: pi-3, within: 18s }
  - at: 1s
    expect: { kept: [pi-1, pi-2], for: 18s }
  - at: 1s
    expect: { leader: same, term: same, for: 18s }

  - at: 20s
    do: { power-on: pi-3 }
  - at: 20s
    expect: { ready: all, not-tainted: all, within: 8s }
`;

export const flappingLink = `\
name: flapping-link
description: >
  The link of a board flaps. As long as some heartbeats arrive, the board is not declared lost; nor is it while the link is
  only slow.
boards: 3
zones: 1
workloads:
  - { name: web, replicas: 6, toleration: 2s }

kubelet: { renew: 1s, look: 1s }
config:
  leader: { duration: 6s, renewDeadline: 4s, retry: 1s, followers: poll }
  nodeLifecycle: { monitorPeriod: 500ms, gracePeriod: 5s, startupGracePeriod: 5s, evictionRate: 1 }

steps:
  - at: 1s
    do: { flap: pi-3, down: 2s, up: 2s }
  - at: 1s
    expect: { kept: all, not-tainted: all, for: 12s }
  - at: 1s
    expect: { leader: same, term: same, for: 12s }

  - at: 13s
    do: { slow: pi-3, delay: 600ms }
  - at: 14s
    expect: { kept: all, not-tainted: all, for: 8s }

  - at: 22s
    do: { restore: pi-3 }
  - at: 22s
    expect: { ready: all, not-tainted: all, within: 6s }
`;

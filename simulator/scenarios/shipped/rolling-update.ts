export const rollingUpdate = `\
name: rolling-update
description: >
  The daemon pods of a site are rolled to a newer image, and a board loses power. The update continues on the other
  boards, services route to living pods, and the board catches up when it returns.
boards: 3
zones: 1
workloads:
  - { name: web, replicas: 6, toleration: 60s, port: 80 }
daemons:
  - { name: monitor }

# Everything is shorter than on a real site, so that the story fits into half a minute.
kubelet: { renew: 1s, look: 1s }
config:
  leader: { duration: 6s, renewDeadline: 4s, retry: 1s, followers: poll }
  nodeLifecycle: { monitorPeriod: 500ms, gracePeriod: 4s, startupGracePeriod: 4s, evictionRate: 1 }

steps:
  - at: 0s
    expect: { served: all, rolled: monitor, within: 5s }
  - at: 1s
    do: { roll: monitor }
  - at: 2s
    expect: { rolled: monitor, within: 20s }

  - at: 12s
    do: { power-off: pi-3 }
  - at: 12s
    expect: { not-ready: pi-3, not-served: pi-3, within: 12s }
  - at: 12s
    expect: { served: [pi-1, pi-2], kept: all, for: 14s }

  - at: 28s
    do: { power-on: pi-3 }
  - at: 28s
    expect: { ready: all, served: all, rolled: monitor, within: 12s }
`;

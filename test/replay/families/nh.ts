import { lifecycleFamily } from "../site/lifecycle-family.ts";

export const nh = lifecycleFamily({
  name: "NH",
  title: "the health of boards: when a silent one becomes Unknown, and what is written then",
  about: "A board is heard when its heartbeat changes or its Lease is renewed.",
  readyLives: false,
  examples: [
    {
      id: "NH-07",
      family: "NH",
      given: {
        nodes: [{ name: "n0", ready: "T", heartbeatMs: 0, lease: 1, createdMs: 0 }],
        pods: [{ name: "p1", node: "n0" }],
      },
      steps: [
        { atMs: 0, event: { do: "pass" } },
        { atMs: 3_600_000, event: { do: "pass" } },
      ],
      expect: {
        nodes: {
          n0: {
            ready: "Unknown",
            conditions: { Ready: { reason: "NodeStatusUnknown", heartbeatMs: 0, transitionMs: 3_600_000 } },
          },
        },
        podsNotReady: [{ atMs: 3_600_000, pod: "default/p1" }],
      },
    },
    {
      id: "NH-11",
      family: "NH",
      note: "n0 cannot be written, so it does not count: what is left of its zone is n1.",
      given: {
        nodes: [
          { name: "n0", ready: "T", zone: "A", lease: 1 },
          { name: "n1", ready: "U", zone: "A" },
          { name: "n2", ready: "T", zone: "B", alive: true },
        ],
      },
      steps: [
        { atMs: 0, event: { do: "refuse", object: "n0", part: "status", reason: "Conflict" } },
        { atMs: 0, event: { do: "pass" } },
        { atMs: 41_000, event: { do: "pass" } },
      ],
      expect: { zones: { A: { state: "FullDisruption" } }, nodes: { n0: { ready: "True", noExecute: [] } } },
    },
    {
      id: "NH-13",
      family: "NH",
      note: "Passes every 5 s by themselves, and a whole Node object.",
      given: {
        nodes: [
          {
            metadata: { name: "pi-1", creationTimestamp: "2025-12-31T00:00:00Z" },
            status: { conditions: [{ type: "Ready", status: "True", lastHeartbeatTime: "2025-12-31T23:50:00Z" }] },
          },
          { name: "pi-2", alive: true },
        ],
      },
      steps: [
        { atMs: 40_000, event: { do: "look" } },
        { atMs: 45_000, event: { do: "look" } },
      ],
      expect: {
        steps: [
          { nodes: { "pi-1": { ready: "True", probeMs: 0 } } },
          { nodes: { "pi-1": { ready: "Unknown", conditions: { Ready: { heartbeatMs: -600_000 } } } } },
        ],
      },
    },
  ],
});

import { nodeTaintsFamily } from "../site/node-taints-family.ts";

export const ts = nodeTaintsFamily({
  name: "TS",
  title: "NoSchedule taints, from the conditions of a Node and from its cordon",
  about:
    "Ready False gives not-ready, Ready Unknown unreachable; MemoryPressure, DiskPressure, PIDPressure and " +
    "NetworkUnavailable give a taint each where they are True, spec.unschedulable gives unschedulable. What is missing is " +
    "put on, what is no longer deserved is taken off, all other taints stay.",
  examples: [
    {
      id: "TS-01",
      family: "TS",
      given: { nodes: [{ name: "n0", ready: "T", conditions: { NetworkUnavailable: "True" } }] },
      expect: { nodes: { n0: { taints: ["network-unavailable:NoSchedule"] } } },
    },
    {
      id: "TS-08",
      family: "TS",
      note: "The kubelet reports, and somebody cordons.",
      given: { nodes: [{ name: "n0", ready: "F", taints: ["gpu:NoSchedule"] }] },
      steps: [
        { atMs: 10_000, event: { do: "status", node: "n0", ready: "T", conditions: { MemoryPressure: "True" } } },
        { atMs: 20_000, event: { do: "cordon", node: "n0", unschedulable: true } },
      ],
      expect: {
        taints: { size: 4 },
        nodes: { n0: { taints: ["gpu:NoSchedule", "memory-pressure:NoSchedule", "unschedulable:NoSchedule"] } },
      },
    },
  ],
});

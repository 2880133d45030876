import { nodeTaintsFamily } from "../site/node-taints-family.ts";

export const lb = nodeTaintsFamily({
  name: "LB",
  title: "the old label names of operating system and architecture, which follow the stable ones",
  about:
    "beta.kubernetes.io/os and beta.kubernetes.io/arch get the values of kubernetes.io/os and kubernetes.io/arch, where " +
    "these are there.",
  examples: [
    {
      id: "LB-03",
      family: "LB",
      given: {
        nodes: [
          {
            name: "n0",
            labels: {
              "kubernetes.io/os": "linux",
              "kubernetes.io/arch": "amd64",
              "beta.kubernetes.io/os": "windows",
              "beta.kubernetes.io/arch": "arm",
            },
          },
        ],
      },
      expect: {
        writes: [
          { object: "node/n0", labels: { "beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64" } },
        ],
      },
    },
  ],
});

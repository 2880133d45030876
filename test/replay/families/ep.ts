import { endpointsOfServices } from "../../../agent/controllers/endpoints/controller.ts";
import { workload } from "../../../agent/controllers/registry.ts";
import { serviceFamily } from "./services/family.ts";
import { noJudge } from "./services/no-judge.ts";

/** The Endpoints of services (docs/kubernetes-rules.md#endpoint-triggers, #endpoints-over-capacity). */
export const ep = serviceFamily({
  name: "EP",
  title: "Endpoints: which pods of a service are in it, and how",
  about:
    "The Endpoints of services, as the newest version of Kubernetes writes them: a pod that has run to its end is in none, " +
    "one that is on its way out only where the service publishes all of them.",
  examples: [
    {
      id: "EP-09",
      family: "EP",
      given: {
        services: [{ name: "web", ports: [{ name: "web", port: 80, targetPort: "http" }] }],
        pods: [
          { name: "a", ports: { http: 8080 } },
          { name: "b", ports: { http: 9090 } },
        ],
      },
      expect: {
        endpoints: {
          "default/web": {
            subsets: {
              inAnyOrder: [
                { ready: ["a"], ports: ["web:8080/TCP"] },
                { ready: ["b"], ports: ["web:9090/TCP"] },
              ],
            },
          },
        },
      },
    },
    {
      id: "a pod becomes unready, and goes",
      family: "EP",
      given: { pods: [{ name: "a" }] },
      steps: [
        { atMs: 1000, event: { do: "changePod", pod: "a", ready: "F" } },
        { atMs: 2000, event: { do: "deletePod", pod: "a" } },
      ],
      expect: {
        steps: [
          { endpoints: { "default/web": { ready: 0, notReady: 1, triggerMs: 1000 } } },
          { endpoints: { "default/web": { subsets: [], triggerMs: null } } },
        ],
      },
    },
  ],
  controllersOf: (_given, config) => [
    workload(endpointsOfServices({ verdictDeps: noJudge, batch: config.batchMs ?? 0 }), 1),
  ],
});

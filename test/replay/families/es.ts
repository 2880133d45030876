import { endpointSlices } from "../../../agent/api/resources.ts";
import { endpointSlicesOfServices } from "../../../agent/controllers/endpoint-slice/controller.ts";
import { endpointSliceMirroring } from "../../../agent/controllers/endpoint-slice-mirroring/controller.ts";
import type { Expectations } from "../../../agent/controllers/expectations.ts";
import { workload } from "../../../agent/controllers/registry.ts";
import { noMemory } from "../../../agent/controllers/slices/memory.ts";
import { serviceFamily } from "./services/family.ts";
import type { Given } from "./services/forms.ts";
import { noJudge } from "./services/no-judge.ts";
import { keyOfName } from "./services/pods.ts";
import type { ServiceStory } from "./services/story.ts";

/** Later than any version that a case reaches. */
const neverSeen = "9".repeat(18);

/**
 * The EndpointSlices of services, and of Endpoints that are made by hand (docs/kubernetes-rules.md#endpoint-slices,
 * #slice-packing, #slice-mirroring).
 */
export const es = serviceFamily({
  name: "ES",
  title: "EndpointSlices: which slices there are, and which pods are in each of them",
  about:
    "The EndpointSlices of services with a selector, and those that repeat hand-made Endpoints of services without one. " +
    "What a Node that is not there leads to (a pod is left out, the sync fails and is tried again) shows as an Event " +
    "FailedToUpdateEndpointSlices.",
  examples: [
    {
      id: "ES-01",
      family: "ES",
      given: { pods: [{ name: "p", count: 250 }] },
      expect: { sizes: { "default/web": [100, 100, 50] }, written: { create: 3, update: 0 } },
    },
    {
      id: "ES-03",
      family: "ES",
      given: {
        pods: [{ name: "p", count: 250 }],
        slices: [
          { name: "one", pods: "p-1..p-62" },
          { name: "two", pods: "p-63..p-123" },
        ],
      },
      expect: {
        sizes: { "default/web": [100, 89, 61] },
        written: { create: 1, update: 1, delete: 0 },
      },
    },
    {
      id: "ES-19",
      family: "ES",
      given: { pods: [{ name: "a" }], tracker: [{ slice: "web-x", generation: 1 }] },
      expect: { stale: true, written: { create: 0 } },
    },
  ],
  controllersOf: (given, config, story) => {
    const slices = endpointSlicesOfServices({
      verdictDeps: noJudge,
      most: config.perSlice ?? 100,
      batch: config.batchMs ?? 0,
    });
    const initialMemory = { ...noMemory, expected: trackedBy(given, story) };
    return [workload({ ...slices, initialMemory }, 1), workload(endpointSliceMirroring({ most: 1000 }), 1)];
  },
  more: {
    schema: {
      stale: {
        type: "boolean",
        description:
          "The cache does not show what was written last: nothing is concluded from it (upstream's StaleSlices).",
      },
    },
    show: ({ memories }) => ({ stale: memories.some(isBehind) }),
  },
});

const isBehind = (memory: unknown): boolean =>
  typeof memory === "object" && memory !== null && "waits" in memory && memory.waits !== 0;

/** A write is visible once the cache shows its result, or something later. */
function trackedBy({ tracker = [] }: Given, { site }: ServiceStory): Expectations {
  return new Map(
    tracker.map(({ slice, generation }) => {
      const key = keyOfName(slice);
      const cached = site.api.find(endpointSlices, key);
      const isSeen = cached !== undefined && (cached.metadata.generation ?? 0) >= generation;
      const version = isSeen ? cached.metadata.resourceVersion : neverSeen;
      const uid = cached?.metadata.uid ?? `uid-${slice}`;
      return [uid, { key, version: generation < 0 ? undefined : version, at: site.clock.now() }];
    }),
  );
}

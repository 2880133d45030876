import { labelValues, mayBeSelectedBy, mayMatchEach, serviceOf } from "../../../agent/api/index-values.ts";
import { judgeNotes } from "../../../agent/api/judge-notes.ts";
import { type KubeObject, keyOf } from "../../../agent/api/meta.ts";
import { parseIdentity, parseObject } from "../../../agent/api/parse.ts";
import {
  controllerRevisions,
  daemonSets,
  endpointSlices,
  endpoints,
  leases,
  namespaces,
  nodes,
  pods,
  type Resource,
  services,
} from "../../../agent/api/resources.ts";
import { labelSelectorOf, matchesLabels, type WrittenSelector } from "../../../agent/api/selectors.ts";
import { isFields } from "../../../agent/api/shape-rules.ts";
import { kindOf } from "../../../agent/informer/kinds/kinds.ts";
import { siteLeaseOf } from "../../../agent/site/site-lease.ts";
import { exampleOf } from "../examples.ts";
import { ensure, jsonIn, type Target, taken } from "../target.ts";

export const resources: readonly Resource<KubeObject>[] = [
  pods,
  nodes,
  leases,
  daemonSets,
  controllerRevisions,
  services,
  endpoints,
  endpointSlices,
  namespaces,
];

const labels = { app: "web", tier: "a", disk: "ssd" };

/** Parses, trims, indexes and stores an object like an informer, and reads it like the controllers. */
export const objects: readonly Target[] = resources.map((resource) => ({
  name: `object-${resource.plural}`,
  form: "json",
  open: () => ({
    example: (random) => JSON.stringify(exampleOf[resource.plural]?.(random)),
    run: (input) => {
      const parsed = parseObject<KubeObject>(jsonIn(input), resource);
      parseIdentity(jsonIn(input), resource);
      if (!parsed.ok) {
        ensure(typeof parsed.why === "string" && parsed.why.length < 1000, "a refusal is a short sentence");
        return false;
      }
      const { trim, indices, isQuiet } = kindOf(resource);
      const kept = trim(parsed.object);
      const stored = JSON.parse(JSON.stringify(kept));
      isQuiet?.(stored, kept);
      ensure(keyOf(stored) === keyOf(kept), "a stored object has the key of the received one");
      for (const index of Object.values(indices)) {
        for (const value of index(kept)) ensure(typeof value === "string", "an index has texts");
      }
      readBy(kept);
      return true;
    },
  }),
}));

function readBy(object: KubeObject): void {
  const { metadata } = object;
  labelValues(metadata.namespace ?? "", metadata.labels);
  mayBeSelectedBy(metadata.namespace ?? "", metadata.labels);
  serviceOf(object);
  judgeNotes(Reflect.get(metadata, "managedFields"));
  if (object.kind === "Lease") siteLeaseOf(object);
  const spec: unknown = Reflect.get(object, "spec");
  const selector = object.kind === "DaemonSet" && isFields(spec) ? spec.selector : undefined;
  taken(["SelectorError"], () => {
    const read = labelSelectorOf((selector ?? {}) as WrittenSelector);
    matchesLabels(read, labels);
    mayMatchEach(metadata.namespace ?? "", read);
  });
}

import type { Pod, Service } from "../../api/core.ts";
import { mayBeSelectedBy, mayMatchEach } from "../../api/index-values.ts";
import { keyOf } from "../../api/meta.ts";
import { pods, services } from "../../api/resources.ts";
import { labelSelectorOf, matchesLabels } from "../../api/selectors.ts";
import type { Millis } from "../../base/clock.ts";
import type { Steps } from "../../base/steps.ts";
import { type Seen, type SiteView, wakeOnChange } from "../../loop/controller.ts";
import { barePod } from "../bare-pod.ts";
import { isReady } from "./eligible.ts";
import { namedPortsOf } from "./target-port.ts";

/**
 * The pods that a service selects, by key. Reads indices instead of scanning: if all pods share one label of the
 * selector, another one tells them apart. It always continues with the label that has yielded the fewest other pods,
 * and ends when one label is exhausted. Counting first would read every pod on sites limited to some namespaces.
 *
 * In steps, and of each pod only what endpoints are made of: a tenant's pods may be many, and large.
 */
export function* selectedPods(service: Service, site: SiteView): Steps<readonly Pod[]> {
  const { namespace = "" } = service.metadata;
  const selector = labelSelectorOf({ matchLabels: service.spec?.selector ?? {} });
  const lookUps = mayMatchEach(namespace, selector).map((value) => ({
    rest: site.lister(pods).byIndex("byLabel", value),
    found: [] as Pod[],
    strangers: 0,
  }));
  const portNames = new Set(namedPortsOf(service).map(({ targetPort }) => targetPort));
  for (;;) {
    const best = lookUps.reduce((a, b) => (b.strangers < a.strangers ? b : a));
    const next = best.rest.next();
    if (next.done) return best.found;
    if (matchesLabels(selector, next.value.metadata.labels)) best.found.push(barePod(next.value, portNames));
    else best.strangers++;
    yield;
  }
}

/**
 * Enqueues the services that a change of a pod concerns (docs/kubernetes-rules.md#endpoint-triggers). A sweep of pods
 * enqueues none: the sweep of services enqueues each.
 */
export const podWake = (batch: Millis) => wakeOnChange(pods, keysOfPod, batch);

function* keysOfPod({ before, after }: Seen<Pod>, site: SiteView): Generator<string | undefined> {
  const is = after ?? before;
  if (is === undefined) return;
  const isNew = before === undefined || after === undefined || hasChanged(before, after);
  const was = before && after && !isSameSelection(before, after) ? before : undefined;
  if (was !== undefined) {
    for (const service of mayBeServicesOf(was, site)) {
      yield selects(service, was) && (isNew || !selects(service, is)) ? keyOf(service) : undefined;
    }
  } else if (!isNew) return;
  for (const service of mayBeServicesOf(is, site)) {
    yield selects(service, is) && (was === undefined || !selects(service, was)) ? keyOf(service) : undefined;
  }
}

/** Keys of the services that select a pod; undefined for each candidate that does not. */
export function* servicesOf(pod: Pod, site: SiteView): Generator<string | undefined> {
  for (const service of mayBeServicesOf(pod, site)) yield selects(service, pod) ? keyOf(service) : undefined;
}

function* mayBeServicesOf({ metadata: { namespace = "", labels } }: Pod, site: SiteView): Generator<Service> {
  for (const value of mayBeSelectedBy(namespace, labels)) yield* site.lister(services).byIndex("bySelector", value);
}

/** No selector selects nothing, an empty one everything. */
const selects = ({ spec }: Service, { metadata: { labels } }: Pod): boolean =>
  spec?.selector !== undefined && matchesLabels(labelSelectorOf({ matchLabels: spec.selector }), labels);

const isSameSelection = (a: Pod, b: Pod): boolean =>
  isSameText(a.metadata.labels ?? {}, b.metadata.labels ?? {}) &&
  a.spec?.hostname === b.spec?.hostname &&
  a.spec?.subdomain === b.spec?.subdomain;

/**
 * As in kube-controller-manager 1.36: every update of a terminating pod counts, and a finished pod shows by its
 * readiness. A recreated pod of the same name counts as changed.
 */
const hasChanged = (a: Pod, b: Pod): boolean =>
  a.metadata.uid !== b.metadata.uid ||
  b.metadata.deletionTimestamp !== undefined ||
  isReady(a) !== isReady(b) ||
  !isSameText(a.status?.podIPs ?? [], b.status?.podIPs ?? []);

const isSameText = (a: object, b: object): boolean => JSON.stringify(a) === JSON.stringify(b);

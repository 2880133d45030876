import type { Pod, Service } from "../../api/core.ts";
import { mayBeSelectedBy, mayMatchEach } from "../../api/index-values.ts";
import { keyOf } from "../../api/meta.ts";
import { pods, services } from "../../api/resources.ts";
import { labelSelectorOf, matchesLabels } from "../../api/selectors.ts";
import type { Millis } from "../../base/clock.ts";
import { type Seen, type SiteView, wakeOnChange } from "../../loop/controller.ts";
import { isReady } from "./eligible.ts";

/**
 * The pods that a service selects, by their keys. Looked up by a label, never searched for: where all pods share one of
 * its labels it is another that tells them apart. So it goes on under the label that has shown the fewest strangers, and is
 * done where one of them shows no more. To count first would read every pod where not all namespaces are the site's.
 */
export function selectedPods({ metadata: { namespace = "" }, spec }: Service, site: SiteView): readonly Pod[] {
  const selector = labelSelectorOf({ matchLabels: spec?.selector ?? {} });
  const lookUps = mayMatchEach(namespace, selector).map((value) => ({
    rest: site.lister(pods).byIndex("byLabel", value),
    found: [] as Pod[],
    strangers: 0,
  }));
  for (;;) {
    const best = lookUps.reduce((a, b) => (b.strangers < a.strangers ? b : a));
    const next = best.rest.next();
    if (next.done) return best.found;
    if (matchesLabels(selector, next.value.metadata.labels)) best.found.push(next.value);
    else best.strangers++;
  }
}

/**
 * The services that a change of a pod concerns (docs/kubernetes-rules.md#endpoint-triggers). When all that is cached is
 * gone through nobody is woken: each service comes by itself.
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

/** The services that select a pod, by their keys; undefined for each that might and does not. */
export function* servicesOf(pod: Pod, site: SiteView): Generator<string | undefined> {
  for (const service of mayBeServicesOf(pod, site)) yield selects(service, pod) ? keyOf(service) : undefined;
}

function* mayBeServicesOf({ metadata: { namespace = "", labels } }: Pod, site: SiteView): Generator<Service> {
  for (const value of mayBeSelectedBy(namespace, labels)) yield* site.lister(services).byIndex("bySelector", value);
}

/** A service without a selector selects nothing, one with an empty selector everything. */
const selects = ({ spec }: Service, { metadata: { labels } }: Pod): boolean =>
  spec?.selector !== undefined && matchesLabels(labelSelectorOf({ matchLabels: spec.selector }), labels);

const isSameSelection = (a: Pod, b: Pod): boolean =>
  isSameText(a.metadata.labels ?? {}, b.metadata.labels ?? {}) &&
  a.spec?.hostname === b.spec?.hostname &&
  a.spec?.subdomain === b.spec?.subdomain;

/**
 * As in kube-controller-manager 1.36: every update of a pod that is on its way out counts, and a pod that ends is noticed
 * because it is not ready any more. A pod of the same name that took another's place is another one.
 */
const hasChanged = (a: Pod, b: Pod): boolean =>
  a.metadata.uid !== b.metadata.uid ||
  b.metadata.deletionTimestamp !== undefined ||
  isReady(a) !== isReady(b) ||
  !isSameText(a.status?.podIPs ?? [], b.status?.podIPs ?? []);

const isSameText = (a: object, b: object): boolean => JSON.stringify(a) === JSON.stringify(b);

import type { Pod, Service } from "../../api/core.ts";
import { mayBeSelectedBy, mayMatchEach } from "../../api/index-values.ts";
import { isSameJson } from "../../api/json.ts";
import { keyOf } from "../../api/meta.ts";
import { isReady } from "../../api/pods.ts";
import { pods, services } from "../../api/resources.ts";
import { labelSelectorOf, matchesLabels } from "../../api/selectors.ts";
import type { Millis } from "../../base/clock.ts";
import type { Steps } from "../../base/steps.ts";
import { enqueueOnChange, type ObjectChange, type SiteView } from "../../loop/controller.ts";
import { barePod } from "../bare-pod.ts";
import { SharedPorts } from "./shared-ports.ts";
import { namedPortsOf } from "./target-port.ts";

/**
 * The pods that a service selects, by key. Reads the indices of the selector's labels in turn, always continuing with
 * the one that has returned the fewest non-matching pods, and ends when one of them is exhausted: one label may be on
 * every pod, but rarely all labels are. On a site limited to some namespaces, counting the pods of each label first
 * would read every pod.
 *
 * Works in steps, and keeps only the parts of a pod that endpoints need, because a tenant's pods may be many and large.
 */
export function* selectedPods(service: Service, site: SiteView): Steps<readonly Pod[]> {
  const { namespace = "" } = service.metadata;
  const selector = labelSelectorOf({ matchLabels: service.spec?.selector ?? {} });
  const lookUps = mayMatchEach(namespace, selector).map((value) => ({
    rest: site.lister(pods).byIndex("byLabel", value),
    found: [] as Pod[],
    mismatches: 0,
  }));
  const portNames = new Set(namedPortsOf(service).map(({ targetPort }) => targetPort));
  const ports = new SharedPorts(service);
  for (;;) {
    const best = lookUps.reduce((a, b) => (b.mismatches < a.mismatches ? b : a));
    if (!readNext(best)) return best.found;
    yield;
  }

  /** Not part of the loop, because a suspended generator keeps its variables and so would keep the whole pod. */
  function readNext(lookUp: (typeof lookUps)[number]): boolean {
    const { done, value: pod } = lookUp.rest.next();
    if (done) return false;
    if (matchesLabels(selector, pod.metadata.labels)) lookUp.found.push(ports.of(barePod(pod, portNames)));
    else lookUp.mismatches++;
    return true;
  }
}

/**
 * Enqueues the services affected by a change of a pod (docs/kubernetes-rules.md#endpoint-triggers). A resync of all
 * pods enqueues none, because the resync of services enqueues all of them.
 */
export const enqueueOnPod = (batch: Millis) => enqueueOnChange(pods, keysOfPod, batch);

function* keysOfPod({ before, after }: ObjectChange<Pod>, site: SiteView): Generator<string | undefined> {
  const pod = after ?? before;
  if (pod === undefined) return;
  const isChanged = before === undefined || after === undefined || hasChanged(before, after);
  // The pod before its labels changed, because some services may no longer select it, and others may now do so.
  const relabelled = before && after && !isSameSelection(before, after) ? before : undefined;
  if (relabelled !== undefined) {
    for (const service of mayBeServicesOf(relabelled, site)) {
      yield selects(service, relabelled) && (isChanged || !selects(service, pod)) ? keyOf(service) : undefined;
    }
  } else if (!isChanged) return;
  for (const service of mayBeServicesOf(pod, site)) {
    const isLeft = relabelled === undefined || !selects(service, relabelled);
    yield selects(service, pod) && isLeft ? keyOf(service) : undefined;
  }
}

/** Keys of the services that select a pod; undefined for each candidate that does not. */
export function* servicesOf(pod: Pod, site: SiteView): Generator<string | undefined> {
  for (const service of mayBeServicesOf(pod, site)) yield selects(service, pod) ? keyOf(service) : undefined;
}

function* mayBeServicesOf({ metadata: { namespace = "", labels } }: Pod, site: SiteView): Generator<Service> {
  for (const value of mayBeSelectedBy(namespace, labels)) yield* site.lister(services).byIndex("bySelector", value);
}

/** Whether the service selects the pod. A missing selector selects nothing, an empty one everything. */
const selects = ({ spec }: Service, { metadata: { labels } }: Pod): boolean =>
  spec?.selector !== undefined && matchesLabels(labelSelectorOf({ matchLabels: spec.selector }), labels);

const isSameSelection = (a: Pod, b: Pod): boolean =>
  isSameJson(a.metadata.labels ?? {}, b.metadata.labels ?? {}) &&
  a.spec?.hostname === b.spec?.hostname &&
  a.spec?.subdomain === b.spec?.subdomain;

/**
 * Whether a change of a pod may change endpoints, as in kube-controller-manager 1.36: every update of a terminating pod
 * does, and a pod that finishes becomes unready. A recreated pod with the same name counts as changed.
 */
const hasChanged = (a: Pod, b: Pod): boolean =>
  a.metadata.uid !== b.metadata.uid ||
  b.metadata.deletionTimestamp !== undefined ||
  isReady(a) !== isReady(b) ||
  !isSameJson(a.status?.podIPs ?? [], b.status?.podIPs ?? []);

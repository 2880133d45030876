import type { Endpoints, Pod, Service } from "../../api/core.ts";
import { endpoints, newObject } from "../../api/resources.ts";
import { backoff } from "../../base/backoff.ts";
import type { Instant, Millis } from "../../base/clock.ts";
import { atOnce, type Steps } from "../../base/steps.ts";
import { type Action, type Cause, type ObjectRef, type Outcome, refTo } from "../../execution/actions.ts";
import type { Decision } from "../../loop/controller.ts";
import { type Expectations, expecting } from "../expectations.ts";
import { headlessLabel, isHeadless } from "../service/eligible.ts";
import type { Subset } from "../service/go-text.ts";
import { isSameMap, mapPatch, without } from "../service/map-patch.ts";
import { type Readiness, readinessOf, type SilentBoards } from "../service/readiness.ts";
import { refusalOf } from "../service/refusal.ts";
import { triggerAnnotation, triggerTime } from "../service/trigger-time.ts";
import type { EndpointsMemory } from "./memory.ts";
import { repack } from "./repack.ts";
import { isSameSubsets, readyTargets, subsetsOf } from "./subsets.ts";
import { truncate } from "./truncate.ts";

export type EndpointsState =
  /** The service does not exist, so the Endpoints with its name are deleted. */
  | { readonly kind: "gone"; readonly endpoints: Endpoints }
  /** Another writer manages the service's Endpoints. */
  | { readonly kind: "foreign" }
  /** The cache does not show our own writes yet. */
  | { readonly kind: "behind"; readonly expected: Expectations }
  | {
      readonly kind: "selected";
      readonly service: Service;
      /** The pods that the service selects, by name. */
      readonly pods: readonly Pod[];
      readonly endpoints: Endpoints | undefined;
      readonly silence: SilentBoards;
    };

export const managedBy = { label: "endpoints.kubernetes.io/managed-by", us: "endpoint-controller" } as const;
const overCapacity = "endpoints.kubernetes.io/over-capacity";

/** How soon an address that is held ready is checked again. See docs/judgement.md#harmful-acts. */
const recheck: Millis = 5000;
/** Backoff in ms for checking whether the cache shows our writes. */
const catchUp = { first: 50, max: 2000 };

export const decide = (state: EndpointsState, memory: EndpointsMemory): Decision<EndpointsMemory> =>
  atOnce(decideInSteps(state, memory));

/** Decides in steps, because a service may have tens of thousands of ports. */
export function* decideInSteps(state: EndpointsState, memory: EndpointsMemory): Steps<Decision<EndpointsMemory>> {
  switch (state.kind) {
    case "gone": {
      // Requires the resourceVersion that was read, because a recreated service may have taken over the Endpoints
      // before the request arrives.
      return { actions: [{ do: "delete", target: refTo(endpoints, state.endpoints) }], memory };
    }
    case "foreign":
      return { actions: [], memory };
    case "behind": {
      const waits = memory.waits + 1;
      const requeueAfter = backoff(waits, catchUp);
      return { actions: [], memory: { ...memory, expected: state.expected, waits }, requeueAfter };
    }
    case "selected": {
      const { service, pods, silence } = state;
      // With publishNotReadyAddresses, an unready pod keeps its address, so no address needs to be held ready.
      const wasReady = service.spec?.publishNotReadyAddresses ? [] : readyTargets(state.endpoints?.subsets);
      const readiness = readinessOf(pods, silence, new Set(wasReady));
      const { at, times } = triggerTime(memory.reported, service, pods);
      const actions = yield* write(state, readiness, at);
      const next: EndpointsMemory = { ...memory, reporting: times, expected: new Map(), waits: 0 };
      return { actions, memory: next, ...(readiness.isHeld && { requeueAfter: recheck }) };
    }
    default:
      return state satisfies never;
  }
}

/** After a failed write, the next sync reports the same trigger time, and an Event reports a refusal by the API. */
export function decideAfterWrites(
  { actions, memory, ...rest }: Decision<EndpointsMemory>,
  outcomes: readonly Outcome[],
  now: Instant,
): Decision<EndpointsMemory> {
  const expected = expecting(memory.expected, endpoints, outcomes, now);
  const isDone = outcomes.every(({ ok }) => ok);
  const reported = isDone ? (memory.reporting ?? memory.reported) : memory.reported;
  const [write] = actions;
  const refusal = refusalOf(outcomes);
  return {
    ...rest,
    actions: write && refusal !== undefined ? complaint(write, refusal) : [],
    memory: { ...memory, reported, reporting: undefined, expected },
  };
}

type Selected = Extract<EndpointsState, { kind: "selected" }>;

function* write(
  { service, pods, endpoints: cached }: Selected,
  readiness: Readiness,
  at: string | undefined,
): Steps<Action[]> {
  const { subsets, isTruncated } = truncate(yield* subsetsOf(service, pods, readiness.ready));
  const labels = labelsOf(service);
  const annotations = annotationsOf(cached, { at, isTruncated });
  if (cached === undefined) {
    const { namespace = "", name } = service.metadata;
    const metadata = { name, namespace, labels, annotations };
    return [{ do: "create", resource: endpoints, object: newObject(endpoints, { metadata, subsets }) }];
  }
  const isSame =
    (yield* isSameAddresses(cached.subsets ?? [], subsets)) &&
    isSameMap(without(cached.metadata.labels, headlessLabel), without(labels, headlessLabel)) &&
    cached.metadata.annotations?.[overCapacity] === annotations[overCapacity];
  if (isSame) return [];
  const metadata = {
    labels: mapPatch(cached.metadata.labels, labels),
    annotations: mapPatch(cached.metadata.annotations, annotations),
  };
  return [patch(cached, { metadata, subsets }, readiness.cause)];
}

const patch = (cached: Endpoints, body: object, cause: Cause | undefined): Action => ({
  do: "patch",
  target: refTo(endpoints, cached),
  type: "merge",
  patch: body,
  ...(cause && { cause }),
});

/** Whether the stored subsets have the desired addresses, even if another writer packed or ordered them differently. */
function* isSameAddresses(stored: readonly Subset[], desired: readonly Subset[]): Steps<boolean> {
  return (yield* isSameSubsets(stored, desired)) || (yield* isSameSubsets(yield* repack(stored), desired));
}

/** The labels of the service, plus ours. */
const labelsOf = (service: Service): Readonly<Record<string, string>> => ({
  ...without(service.metadata.labels, headlessLabel),
  ...(isHeadless(service) && { [headlessLabel]: "" }),
  [managedBy.label]: managedBy.us,
});

/** The annotations of other writers, plus ours. */
const annotationsOf = (
  cached: Endpoints | undefined,
  { at, isTruncated }: { readonly at: string | undefined; readonly isTruncated: boolean },
): Readonly<Record<string, string>> => ({
  ...without(cached?.metadata.annotations, triggerAnnotation, overCapacity),
  ...(at !== undefined && { [triggerAnnotation]: at }),
  ...(isTruncated && { [overCapacity]: "truncated" }),
});

function complaint(write: Action, refusal: string): readonly Action[] {
  if (write.do === "create") {
    const { namespace, name = "" } = write.object.metadata;
    const about: ObjectRef = { resource: endpoints, namespace, name, uid: "" };
    const message = `Failed to create endpoint for service ${namespace}/${name}: ${refusal}`;
    return [{ do: "event", about, severity: "Warning", reason: "FailedToCreateEndpoint", message }];
  }
  if (write.do !== "patch") return [];
  const { target } = write;
  const message = `Failed to update endpoint ${target.namespace}/${target.name}: ${refusal}`;
  return [{ do: "event", about: target, severity: "Warning", reason: "FailedToUpdateEndpoint", message }];
}

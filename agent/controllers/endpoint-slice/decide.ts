import type { EndpointSlice, Pod, Service } from "../../api/core.ts";
import { boardOf } from "../../api/pods.ts";
import { services } from "../../api/resources.ts";
import { backoff } from "../../base/backoff.ts";
import { elapsed, type Instant, isAfter, type Millis, shifted } from "../../base/clock.ts";
import { atOnce, type Steps } from "../../base/steps.ts";
import { type Action, type ObjectRef, type Outcome, refTo } from "../../execution/actions.ts";
import type { Decision } from "../../loop/controller.ts";
import type { Expectations } from "../expectations.ts";
import { without } from "../service/map-patch.ts";
import { readinessOf, type SilentBoards } from "../service/readiness.ts";
import { refusalOf } from "../service/refusal.ts";
import { triggerAnnotation, triggerTime } from "../service/trigger-time.ts";
import { afterPart, inParts, type SliceMemory, waitForCache } from "../slices/memory.ts";
import { endpointsOf } from "../slices/slice.ts";
import { partsOf, sliceOwner } from "../slices/write.ts";
import { familiesOf } from "./endpoint.ts";
import { planOf } from "./plan.ts";
import type { ZoneShares } from "./zone-shares.ts";

export type SlicesState =
  /** Another writer manages the service's slices. */
  | { readonly kind: "foreign" }
  /** The cache does not show our own writes yet. */
  | { readonly kind: "behind"; readonly expected: Expectations }
  | {
      readonly kind: "selected";
      readonly service: Service;
      /** The pods that the service selects, by name. */
      readonly pods: readonly Pod[];
      /** Our slices of the service that are not being deleted, by name. */
      readonly slices: readonly EndpointSlice[];
      /** The zone of each board that has a Node; undefined if the board has no zone label. */
      readonly zones: ReadonlyMap<string, string | undefined>;
      /**
       * Each zone's share of the site's CPU; undefined if it cannot be computed, "not asked" if the service does not
       * use the shares.
       */
      readonly shares: ZoneShares | undefined | "not asked";
      readonly silence: SilentBoards;
    };

/** How soon an endpoint that is held ready is checked again. */
const recheck: Millis = 5000;
/** Backoff in ms for pods that had to be left out, as in kube-controller-manager. */
const missedRetry = { first: 1000, max: 1_000_000 };

export const decide = (state: SlicesState, memory: SliceMemory, most: number, now: Instant): Decision<SliceMemory> =>
  atOnce(decideInSteps(state, memory, most, now));

/** Decides in steps, because a service may have tens of thousands of ports. */
export function* decideInSteps(
  state: SlicesState,
  memory: SliceMemory,
  most: number,
  now: Instant,
): Steps<Decision<SliceMemory>> {
  switch (state.kind) {
    case "foreign":
      return { actions: [], memory };
    case "behind":
      return waitForCache(memory, state.expected);
    case "selected":
      return yield* decideSelected(state, memory, most, now);
    default:
      return state satisfies never;
  }
}

type Selected = Extract<SlicesState, { kind: "selected" }>;

function* decideSelected(
  state: Selected,
  memory: SliceMemory,
  most: number,
  now: Instant,
): Steps<Decision<SliceMemory>> {
  const { service, pods, slices, zones, shares, silence } = state;
  // With publishNotReadyAddresses, the endpoint of an unready pod stays ready, so no endpoint needs to be held ready.
  const wasReady = service.spec?.publishNotReadyAddresses ? [] : readyTargets(slices);
  const { ready, isHeld, cause } = readinessOf(pods, silence, new Set(wasReady));
  const { at, times } = triggerTime(memory.reported, service, pods);
  const owner = sliceOwner(services, service);
  const wanted = { service, owner: owner.reference, pods, ready, zones, shares, slices, most };
  const { plan, missing, troubles } = yield* planOf(wanted);
  const annotationsOf = (before: EndpointSlice | undefined) => ({
    ...without(before?.metadata.annotations, triggerAnnotation),
    ...(at !== undefined && { [triggerAnnotation]: at }),
  });
  const parts = partsOf(plan, owner, { annotationsOf, cause });
  const missed = missedNow(missing, service, memory.missed, now);
  const about = refTo(services, service);
  const complaints = missed !== undefined && missed !== memory.missed ? [complaint(about, missed.text)] : [];
  const isShared = shares !== "not asked" && troubles.size === 0;
  const next: SliceMemory = { ...memory, reporting: times, expected: new Map(), waits: 0, missed, isShared };
  const { actions, memory: kept } = inParts(parts, next);
  const waits = [...(isHeld ? [recheck] : []), ...(missed ? [elapsed(now, missed.until)] : [])];
  return {
    actions: [...actions, ...complaints, ...sharingEvents(state, troubles, memory.isShared)],
    memory: { ...kept, about },
    ...(waits.length > 0 && { requeueAfter: Math.min(...waits) }),
  };
}

/** After a failed write, the next sync reports the same trigger time, and an Event reports a refusal by the API. */
export const decideAfterWrites = (
  decision: Decision<SliceMemory>,
  outcomes: readonly Outcome[],
  now: Instant,
): Decision<SliceMemory> =>
  afterPart(decision, outcomes, now, () => {
    const { about } = decision.memory;
    const refusal = refusalOf(outcomes);
    return about === undefined || refusal === undefined ? [] : [complaint(about, refusal)];
  });

/** uids of the pods whose endpoints are ready in the slices. */
const readyTargets = (slices: readonly EndpointSlice[]): readonly string[] =>
  slices.flatMap((slice) =>
    endpointsOf(slice).flatMap(({ conditions, targetRef }) => (conditions?.ready ? (targetRef?.uid ?? []) : [])),
  );

/** Events about zone hints: one for each change between enabled and disabled, and for every failure. */
function sharingEvents(
  { service, shares }: Selected,
  troubles: ReadonlyMap<string, string>,
  wasShared: boolean,
): readonly Action[] {
  const about = refTo(services, service);
  const event = (severity: "Normal" | "Warning", what: "Enabled" | "Disabled", message: string): Action => ({
    do: "event",
    about,
    severity,
    reason: `TopologyAwareHints${what}`,
    message,
  });
  const families = familiesOf(service).join(", ");
  if (shares === "not asked") {
    const message = `Topology Aware Hints has been disabled, addressType: ${families}`;
    return wasShared ? [event("Warning", "Disabled", message)] : [];
  }
  if (troubles.size === 0) {
    const message = `Topology Aware Hints has been enabled, addressType: ${families}`;
    return wasShared ? [] : [event("Normal", "Enabled", message)];
  }
  return [...troubles].map(([family, trouble]) => event("Warning", "Disabled", `${trouble}, addressType: ${family}`));
}

const complaint = (about: ObjectRef, what: string): Action => ({
  do: "event",
  about,
  severity: "Warning",
  reason: "FailedToUpdateEndpointSlices",
  message: `Error updating Endpoint Slices for Service ${about.namespace}/${about.name}: ${what}`,
});

/** The pods left out now. A sync before the next retry keeps the pending backoff and does not repeat the Event. */
function missedNow(
  missing: readonly Pod[],
  service: Service,
  before: SliceMemory["missed"],
  now: Instant,
): SliceMemory["missed"] {
  if (missing.length === 0) return undefined;
  const text = missingText(service, missing);
  if (before?.text === text && isAfter(before.until, now)) return before;
  const times = (before?.times ?? 0) + 1;
  return { text, times, until: shifted(now, backoff(times, missedRetry)) };
}

function missingText({ metadata: { namespace, name } }: Service, missing: readonly Pod[]): string {
  const texts = missing.map(
    (pod) => `skipping Pod ${pod.metadata.name} for Service ${namespace}/${name}: Node ${boardOf(pod) ?? ""} Not Found`,
  );
  return texts.length > 1 ? `[${texts.join(", ")}]` : texts.join("");
}

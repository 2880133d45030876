import { pods as podResource, resourceName } from "../../api/resources.ts";
import { backoff } from "../../base/backoff.ts";
import { elapsed, type Instant, type Millis } from "../../base/clock.ts";
import { dispositionOf } from "../../base/errors.ts";
import { type Action, type Outcome, overtakenBy } from "../../execution/actions.ts";
import type { Decision } from "../../loop/controller.ts";
import { expectationRecheck, expecting } from "../expectations.ts";
import { availabilityOf, untilAvailable, watchReadiness } from "./availability.ts";
import { collisionCounted } from "./history.ts";
import { memoryOf, type SetMemory } from "./memory.ts";
import { type Pass, type SetState, sooner, stages } from "./pass.ts";
import { isNamespaceEnding, podEvents } from "./pod-writes.ts";
import { roundOf } from "./rounds.ts";
import { withOwnWrite } from "./status-fingerprint.ts";

/** How soon to try again with a stale cache. */
const staleRecheck: Millis = 1000;
/**
 * How long no pods are created in a terminating namespace; as long as an expectation lasts
 * (docs/kubernetes-rules.md#slow-start).
 */
const namespaceEnds: Millis = 300_000;
/** Backoff in ms after a refusal, as in kube-controller-manager. */
const refusedRetry = { first: 5, most: 1_000_000 };

/**
 * The steps of docs/kubernetes-rules.md#daemon-sync as rounds of writes; an empty round is followed by the next at
 * once.
 */
export function decide(state: SetState, before: SetMemory, now: Instant): Decision<SetMemory> {
  switch (state.kind) {
    case "stale":
      return { actions: [], memory: before, requeueAfter: staleRecheck };
    case "idle":
      return { actions: state.told, memory: memoryOf(before, state.set.metadata.uid) };
    case "collision":
      return { actions: [collisionCounted(state.live)], memory: memoryOf(before, state.live.metadata.uid) };
    case "work": {
      const { set, pods, expected } = state;
      const memory = memoryOf(before, set.metadata.uid);
      const closed = memory.closedAt === undefined ? 0 : namespaceEnds - elapsed(memory.closedAt, now);
      const recheck = sooner(expected.size > 0 ? expectationRecheck : undefined, closed > 0 ? closed : undefined);
      const untouched = { wrote: false, failed: false, refused: false, told: [] };
      const pass: Pass = { work: state, stage: "claims", waits: recheck !== undefined, recheck, ...untouched };
      // Only needed with minReadySeconds; pods that are ready when it is set count as ready before.
      const readiness = set.spec?.minReadySeconds ? watchReadiness(pods, memory.readiness, now) : undefined;
      return begin(pass, { ...memory, expected, readiness, overtaken: new Set() }, now);
    }
    default:
      return state satisfies never;
  }
}

/** The next round, from the outcomes of the last one. */
export function remember(
  { actions, memory, ...rest }: Decision<SetMemory>,
  outcomes: readonly Outcome[],
  now: Instant,
): Decision<SetMemory> {
  if (memory.pass === undefined) return { ...rest, actions: [], memory };
  const failures = outcomes.flatMap((outcome) => (outcome.ok ? [] : [outcome.error]));
  const expected = expecting(memory.expected, podResource, outcomes, now);
  const closedAt = failures.some(isNamespaceEnding) ? now : memory.closedAt;
  const known: SetMemory = { ...memory, expected, closedAt };
  const failed = failures.length > 0;
  const refused = memory.pass.refused || failures.some((error) => dispositionOf(error) === "drop");
  const pass: Pass = { ...memory.pass, refused };
  switch (pass.stage) {
    case "claims":
      // Claims count once the watch delivers them.
      return finished(pass, known, now);
    case "history":
      return failed || changesPods(actions) ? finished(pass, known, now) : next(pass, known, now);
    case "duplicates":
      return failed ? finished(pass, known, now) : next(pass, known, now);
    case "pods":
      return next(
        { ...pass, wrote: true, failed, told: podEvents(pass.work.set, outcomes) },
        { ...known, overtaken: overtakenBy(outcomes, podResource) },
        now,
      );
    case "status": {
      // After a failed write the status still has to be written.
      const looked = failed || known.looked === undefined ? undefined : withOwnWrite(known.looked, outcomes);
      return finished(pass, { ...known, looked }, now);
    }
    default:
      return pass.stage satisfies never;
  }
}

/** Starts the first round from this stage on that has something to write. */
function begin(pass: Pass, memory: SetMemory, now: Instant): Decision<SetMemory> {
  const round = roundOf(pass, memory, now);
  if (round.actions.length === 0) return next(round.pass, round.memory, now);
  return { actions: round.actions, memory: { ...round.memory, pass: round.pass } };
}

function next(pass: Pass, memory: SetMemory, now: Instant): Decision<SetMemory> {
  const stage = stages[stages.indexOf(pass.stage) + 1];
  return stage === undefined ? finished(pass, memory, now) : begin({ ...pass, stage }, memory, now);
}

/** Ends the pass. A refused set is retried by a timer: raised quotas and granted permissions do not change the set. */
function finished(pass: Pass, memory: SetMemory, now: Instant): Decision<SetMemory> {
  const { set, pods } = pass.work;
  const rule = availabilityOf(set, memory.readiness);
  const waits = pods.map((pod) => untilAvailable(pod, rule, now)).filter((wait) => wait !== undefined && wait > 0);
  const refusals = pass.refused ? memory.refusals + 1 : 0;
  const again = pass.refused ? backoff(refusals, refusedRetry) : undefined;
  const requeueAfter = waits.reduce(sooner, sooner(pass.recheck, again));
  return {
    actions: [],
    memory: { ...memory, refusals, pass: undefined },
    ...(requeueAfter !== undefined && { requeueAfter }),
  };
}

const changesPods = (actions: readonly Action[]): boolean =>
  actions.some((action) => action.do === "patch" && resourceName(action.target.resource) === resourceName(podResource));

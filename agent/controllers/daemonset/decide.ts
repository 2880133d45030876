import { pods as podResource, resourceName } from "../../api/resources.ts";
import { backoff } from "../../base/backoff.ts";
import { elapsed, type Instant, type Millis } from "../../base/clock.ts";
import { dispositionOf } from "../../base/errors.ts";
import { isPostponed } from "../../base/postponed.ts";
import { atOnce, endsStep, type Steps } from "../../base/steps.ts";
import { type Action, isOversized, type Outcome, overtakenBy } from "../../execution/actions.ts";
import type { Decision } from "../../loop/controller.ts";
import { expectationRecheck, expecting } from "../expectations.ts";
import { availabilityOf, untilAvailable, watchReadiness } from "./availability.ts";
import { countCollision } from "./history.ts";
import { memoryOf, type SetMemory } from "./memory.ts";
import { oversizedRevision } from "./oversized-revision.ts";
import { type SetPass, type SetState, sooner, stages } from "./pass.ts";
import { heldRecheck, isNamespaceEnding, podEvents } from "./pod-writes.ts";
import { roundOf } from "./rounds.ts";
import { withOwnWrite } from "./status-fingerprint.ts";

/** How soon a set is retried after the cache was stale. */
const staleRecheck: Millis = 1000;
/**
 * How long no pods are created in a terminating namespace; as long as an expectation lasts
 * (docs/kubernetes-rules.md#slow-start).
 */
const namespacePause: Millis = 300_000;
/** Backoff in ms after the API refused a write, as in kube-controller-manager. */
const refusedRetry = { first: 5, max: 1_000_000 };

export const decide = (state: SetState, before: SetMemory, now: Instant): Decision<SetMemory> =>
  atOnce(decideInSteps(state, before, now));

/**
 * The first round of writes. Each round is one step of docs/kubernetes-rules.md#daemon-sync, and an empty one is skipped;
 * `decideAfterWritesInSteps` gives the next. Decides in small steps, because a tenant's set may have thousands of pods.
 */
export function* decideInSteps(state: SetState, before: SetMemory, now: Instant): Steps<Decision<SetMemory>> {
  switch (state.kind) {
    case "stale":
      return { actions: [], memory: before, requeueAfter: staleRecheck };
    case "idle":
      return { actions: state.events, memory: memoryOf(before, state.set.metadata.uid) };
    case "collision":
      return { actions: [countCollision(state.live)], memory: memoryOf(before, state.live.metadata.uid) };
    case "work": {
      const { set, pods, expected } = state;
      const memory = memoryOf(before, set.metadata.uid);
      const closed = memory.closedAt === undefined ? 0 : namespacePause - elapsed(memory.closedAt, now);
      const recheck = sooner(expected.size > 0 ? expectationRecheck : undefined, closed > 0 ? closed : undefined);
      const untouched = { wrote: false, failed: false, refused: false, events: [] };
      const pass: SetPass = { work: state, stage: "claims", waits: recheck !== undefined, recheck, ...untouched };
      // Needed only with minReadySeconds. If it is set later, the timestamps of pods that are ready by then are used
      // too.
      const readiness = set.spec?.minReadySeconds ? yield* watchReadiness(pods, memory.readiness, now) : undefined;
      return yield* begin(pass, { ...memory, expected, readiness, overtaken: new Set() }, now);
    }
    default:
      return state satisfies never;
  }
}

export const decideAfterWrites = (
  decision: Decision<SetMemory>,
  outcomes: readonly Outcome[],
  now: Instant,
): Decision<SetMemory> => atOnce(decideAfterWritesInSteps(decision, outcomes, now));

/** The next round, from the outcomes of the last one. */
export function* decideAfterWritesInSteps(
  { actions, memory, ...rest }: Decision<SetMemory>,
  outcomes: readonly Outcome[],
  now: Instant,
): Steps<Decision<SetMemory>> {
  if (memory.pass === undefined) return { ...rest, actions: [], memory };
  const failures = outcomes.flatMap((outcome) => (outcome.ok ? [] : [outcome.error]));
  const expected = expecting(memory.expected, podResource, outcomes, now);
  const closedAt = failures.some(isNamespaceEnding) ? now : memory.closedAt;
  const updated: SetMemory = { ...memory, expected, closedAt };
  const failed = failures.length > 0;
  const isRefusal = (error: Error): boolean => dispositionOf(error) === "drop";
  const pass: SetPass = { ...memory.pass, refused: memory.pass.refused || failures.some(isRefusal) };
  switch (pass.stage) {
    case "claims":
      // The pass ends here, because adopted pods count only once the watch delivers them.
      return yield* finished(pass, updated, now);
    case "history":
      // Later attempts would not succeed either: see `observe`.
      if (failures.some(isOversized)) {
        const oversized = oversizedRevision(pass.work.set);
        return yield* finished({ ...pass, refused: false }, { ...updated, oversized }, now);
      }
      return yield* (failed || changesPods(actions) ? finished : next)(pass, updated, now);
    case "duplicates":
      return yield* (failed ? finished : next)(pass, updated, now);
    case "pods": {
      // Needed because no object changes when the safety valve opens.
      const recheck = sooner(pass.recheck, failures.some(isPostponed) ? heldRecheck : undefined);
      return yield* next(
        { ...pass, wrote: true, failed, recheck, events: podEvents(pass.work.set, outcomes) },
        { ...updated, overtaken: overtakenBy(outcomes, podResource) },
        now,
      );
    }
    case "status": {
      // Without a fingerprint, the next pass writes the status again.
      const { fingerprint: before } = updated;
      const fingerprint = failed || before === undefined ? undefined : withOwnWrite(before, outcomes);
      return yield* finished(pass, { ...updated, fingerprint }, now);
    }
    default:
      return pass.stage satisfies never;
  }
}

/** Starts the next round that has something to write, from this stage on. */
function* begin(pass: SetPass, memory: SetMemory, now: Instant): Steps<Decision<SetMemory>> {
  const round = yield* roundOf(pass, memory, now);
  if (round.actions.length === 0) return yield* next(round.pass, round.memory, now);
  return { actions: round.actions, memory: { ...round.memory, pass: round.pass } };
}

function* next(pass: SetPass, memory: SetMemory, now: Instant): Steps<Decision<SetMemory>> {
  const stage = stages[stages.indexOf(pass.stage) + 1];
  return yield* stage === undefined ? finished(pass, memory, now) : begin({ ...pass, stage }, memory, now);
}

/**
 * Ends the pass. A refused set is retried by timer, because a raised quota or a granted permission does not enqueue it.
 */
function* finished(pass: SetPass, memory: SetMemory, now: Instant): Steps<Decision<SetMemory>> {
  const { set, pods } = pass.work;
  const rule = availabilityOf(set, memory.readiness);
  let available: Millis | undefined;
  for (const [index, pod] of pods.entries()) {
    if (endsStep(index)) yield;
    available = sooner(available, untilAvailable(pod, rule, now) || undefined);
  }
  const refusals = pass.refused ? memory.refusals + 1 : 0;
  const again = pass.refused ? backoff(refusals, refusedRetry) : undefined;
  const requeueAfter = [available, again].reduce(sooner, pass.recheck);
  return {
    actions: [],
    memory: { ...memory, refusals, pass: undefined },
    ...(requeueAfter !== undefined && { requeueAfter }),
  };
}

const changesPods = (actions: readonly Action[]): boolean =>
  actions.some((action) => action.do === "patch" && resourceName(action.target.resource) === resourceName(podResource));

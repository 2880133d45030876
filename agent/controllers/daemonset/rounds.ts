import { daemonSets } from "../../api/resources.ts";
import type { Instant } from "../../base/clock.ts";
import type { Steps } from "../../base/steps.ts";
import { type Action, anyStateOf, refTo } from "../../execution/actions.ts";
import { availabilityOf } from "./availability.ts";
import { podsByBoard } from "./board.ts";
import { duplicateDeletions, hashOf, historyWrites, surplusRevisions } from "./history.ts";
import type { SetMemory } from "./memory.ts";
import { type SetPass, sooner } from "./pass.ts";
import { podWrites } from "./pod-writes.ts";
import { countBoards, statusPatch } from "./set-status.ts";
import { fingerprintOf, isEcho } from "./status-fingerprint.ts";

/** One round of writes, with the pass and memory that belong to it. */
export interface Round {
  readonly actions: readonly Action[];
  readonly pass: SetPass;
  readonly memory: SetMemory;
}

/** The writes of the pass's current stage. */
export function* roundOf(pass: SetPass, memory: SetMemory, now: Instant): Steps<Round> {
  const { set, pods, boards, history, claims } = pass.work;
  const [present] = history.present;
  const hash = present === undefined ? (history.made?.hash ?? "") : hashOf(present);
  const availability = availabilityOf(set, memory.readiness);
  switch (pass.stage) {
    case "claims":
      return { actions: claims, pass, memory };
    case "history":
      return { actions: yield* historyWrites(set, history, pods), pass, memory };
    case "duplicates":
      return { actions: duplicateDeletions(history), pass, memory };
    case "pods": {
      if (pass.waits) return { actions: [], pass, memory };
      const { backoffs } = memory;
      const { actions, recheck, ...after } = yield* podWrites(pass.work, { hash, availability, backoffs }, now);
      return { actions, pass: { ...pass, recheck: sooner(pass.recheck, recheck) }, memory: { ...memory, ...after } };
    }
    case "status": {
      // A pass that has not handled the pods must not report this generation as observed.
      const byBoard = yield* podsByBoard(pods);
      const counts = yield* countBoards(boards, byBoard, { set, hash, availability }, now);
      const fingerprint = fingerprintOf(set, hash, pods);
      const mayDiffer = pass.wrote || !isEcho(memory.fingerprint, fingerprint, set, counts);
      const patch = mayDiffer ? statusPatch(set, counts, { observed: !pass.waits }) : undefined;
      const surplus = pass.failed || pass.waits ? [] : surplusRevisions(set, history, pods);
      const actions = [...pass.events, ...surplus, ...(patch ? [statusWrite(pass, patch)] : [])];
      return { actions, pass, memory: { ...memory, fingerprint } };
    }
    default:
      return pass.stage satisfies never;
  }
}

/** Patches the status without a resourceVersion as precondition, because only this controller writes these counts. */
function statusWrite({ work: { set } }: SetPass, patch: object): Action {
  const target = anyStateOf(refTo(daemonSets, set));
  return { do: "patch", target, type: "merge", patch, subresource: "status" };
}

import { daemonSets } from "../../api/resources.ts";
import type { Instant } from "../../base/clock.ts";
import { type Action, anyStateOf, refTo } from "../../execution/actions.ts";
import { availabilityOf } from "./availability.ts";
import { podsByBoard } from "./board.ts";
import { duplicateDeletions, hashOf, historyWrites, surplusRevisions } from "./history.ts";
import type { SetMemory } from "./memory.ts";
import { type Pass, sooner } from "./pass.ts";
import { podWrites } from "./pod-writes.ts";
import { countBoards, statusPatch } from "./set-status.ts";
import { isEcho, lookedAt } from "./status-fingerprint.ts";

/** One round of writes, with the pass and memory that belong to it. */
export interface Round {
  readonly actions: readonly Action[];
  readonly pass: Pass;
  readonly memory: SetMemory;
}

export function roundOf(pass: Pass, memory: SetMemory, now: Instant): Round {
  const { set, pods, boards, history, claims } = pass.work;
  const [present] = history.present;
  const hash = present === undefined ? (history.made?.hash ?? "") : hashOf(present);
  const availability = availabilityOf(set, memory.readiness);
  switch (pass.stage) {
    case "claims":
      return { actions: claims, pass, memory };
    case "history":
      return { actions: historyWrites(set, history, pods), pass, memory };
    case "duplicates":
      return { actions: duplicateDeletions(history), pass, memory };
    case "pods": {
      if (pass.waits) return { actions: [], pass, memory };
      const { backoffs } = memory;
      const { actions, recheck, ...after } = podWrites(pass.work, { hash, availability, backoffs }, now);
      return { actions, pass: { ...pass, recheck: sooner(pass.recheck, recheck) }, memory: { ...memory, ...after } };
    }
    case "status": {
      // A pass that skipped the pods has not observed this generation.
      const counts = countBoards(boards, podsByBoard(pods), { set, hash, availability }, now);
      const looked = lookedAt(set, hash, pods);
      const isNews = pass.wrote || !isEcho(memory.looked, looked, set, counts);
      const patch = isNews ? statusPatch(set, counts, { observed: !pass.waits }) : undefined;
      const surplus = pass.failed || pass.waits ? [] : surplusRevisions(set, history, pods);
      const actions = [...pass.told, ...surplus, ...(patch ? [statusWrite(pass, patch)] : [])];
      return { actions, pass, memory: { ...memory, looked } };
    }
    default:
      return pass.stage satisfies never;
  }
}

/** Any version of the set will do: only we write these counts. */
function statusWrite({ work: { set } }: Pass, patch: object): Action {
  const target = anyStateOf(refTo(daemonSets, set));
  return { do: "patch", target, type: "merge", patch, subresource: "status" };
}

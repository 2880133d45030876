import type { Pod } from "../../../../agent/api/core.ts";
import { pods, resourceName } from "../../../../agent/api/resources.ts";
import type { Millis } from "../../../../agent/base/clock.ts";
import { targetOf } from "../../../../agent/controllers/daemonset/daemon-pod.ts";
import type { SetMemory } from "../../../../agent/controllers/daemonset/memory.ts";
import type { SetState } from "../../../../agent/controllers/daemonset/pass.ts";
import type { Action, Outcome } from "../../../../agent/execution/actions.ts";
import type { Controller } from "../../../../agent/loop/controller.ts";

interface Coming {
  readonly atMs: Millis;
  readonly pod: string;
  readonly node: string | undefined;
}

interface ShownPass {
  readonly atMs: Millis;
  /** Boards for which a pod was to be created, and pods that were to be deleted. */
  readonly create: readonly (string | undefined)[];
  readonly delete: readonly string[];
  readonly attempted: number;
  readonly refused: number;
  readonly skipped: number;
  /** Counted as kube-controller-manager does: all creations and deletions that failed. */
  readonly lowered: number;
}

/** Records what the controller decided, including writes that were refused or not even attempted. */
export class PassLog {
  readonly shown: ShownPass[] = [];
  /** When the set was processed; once for each instant. */
  readonly looks: Millis[] = [];
  readonly created: Coming[] = [];
  readonly deleted: Coming[] = [];
  readonly #now: () => Millis;
  /** The boards of pods by name, including pods that are gone. */
  readonly #boards = new Map<string, string | undefined>();

  constructor(now: () => Millis) {
    this.#now = now;
  }

  knows({ metadata, ...pod }: Pod): void {
    this.#boards.set(metadata.name, targetOf({ metadata, ...pod }));
  }

  watched(controller: Controller<SetState, SetMemory>): Controller<SetState, SetMemory> {
    const { decideInSteps: deciding, decideAfterWritesInSteps: remembering } = controller;
    if (deciding === undefined || remembering === undefined) return controller;
    return {
      ...controller,
      decideInSteps: (state, memory, now) => {
        const at = this.#now();
        if (this.looks.at(-1) !== at) this.looks.push(at);
        return deciding(state, memory, now);
      },
      decideAfterWritesInSteps: (decision, outcomes, now) => {
        this.#saw(outcomes);
        return remembering(decision, outcomes, now);
      },
    };
  }

  #saw(outcomes: readonly Outcome[]): void {
    const creations = outcomes.filter(({ action }) => isOfPods(action) && action.do === "create");
    const deletions = outcomes.filter(({ action }) => isOfPods(action) && action.do === "delete");
    if (creations.length + deletions.length === 0) return;
    const skipped = creations.filter((outcome) => !outcome.ok && outcome.error.name === "NotAttemptedError").length;
    const atMs = this.#now();
    for (const outcome of creations) {
      const pod = outcome.ok ? outcome.object?.metadata.name : undefined;
      if (pod !== undefined) this.created.push({ atMs, pod, node: boardOfNew(outcome.action) });
    }
    for (const { ok, action } of deletions) {
      if (!ok || action.do !== "delete") continue;
      const { name } = action.target;
      this.deleted.push({ atMs, pod: name, node: this.#boards.get(name) });
    }
    this.shown.push({
      atMs,
      create: creations.map(({ action }) => boardOfNew(action)),
      delete: deletions.map(({ action }) => (action.do === "delete" ? action.target.name : "")),
      attempted: creations.length - skipped,
      refused: creations.filter(({ ok }) => !ok).length - skipped,
      skipped,
      lowered: [...creations, ...deletions].filter(({ ok }) => !ok).length,
    });
  }
}

const isOfPods = (action: Action): boolean =>
  action.do === "create"
    ? resourceName(action.resource) === resourceName(pods)
    : action.do === "delete" && resourceName(action.target.resource) === resourceName(pods);

/** The board for which a pod was created, according to its affinity. */
function boardOfNew(action: Action): string | undefined {
  if (action.do !== "create") return undefined;
  const [, board] = /"metadata\.name","operator":"In","values":\["([^"]+)"\]/.exec(JSON.stringify(action.object)) ?? [];
  return board;
}

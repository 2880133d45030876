import { registerHooks } from "node:module";
import type { Wishes } from "./schedule.ts";

/** A way to break the agent: texts of its sources, each there exactly once, and what takes their place. */
export interface Mutant {
  readonly breaks: readonly { readonly file: string; readonly text: string; readonly by: string }[];
  /** The check that has to notice, as its violations begin. */
  readonly noticedBy: string;
  /** Where it shows soonest. */
  readonly wishes: Wishes;
}

const one = (file: string, text: string, by: string): Mutant["breaks"] => [{ file, text, by }];

const list = {
  "a fence that always says yes": {
    noticedBy: "terms",
    wishes: { motif: "paused leader", boards: 3 },
    breaks: one("agent/election/fence.ts", "if (!term.standsAt(clock.now())) throw", "if (clock.now().mono < 0) throw"),
  },
  "a follower that waits for nobody": {
    noticedBy: "terms",
    wishes: { boards: 3 },
    breaks: one(
      "agent/election/lease-rules.ts",
      "shifted(now, validity(record, timing.duration))",
      "shifted(now, 0 * validity(record, timing.duration))",
    ),
  },
  "a count that begins anew with each Lease": {
    noticedBy: "terms",
    wishes: { motif: "lost Lease", boards: 2 },
    breaks: one(
      "agent/election/lease-rules.ts",
      'return wait ?? { do: "create", term };',
      'return wait ?? { do: "create", term: term * 0 };',
    ),
  },
  "a Lease that nobody remembers": {
    noticedBy: "terms",
    wishes: { motif: "lost Lease", boards: 3 },
    breaks: one("agent/assemble.ts", "formerTerm: leaderMemo.formerTerm(),", "formerTerm: undefined,"),
  },
  "a budget that is not carried over": {
    noticedBy: "budget",
    wishes: { motif: "dark zone", policy: "kubernetes", boards: 5 },
    breaks: one(
      "agent/leading/term-work.ts",
      "decodeBudget(annotations[budgetAnnotation], begun)",
      "decodeBudget(annotations[budgetAnnotation] && undefined, begun)",
    ),
  },
  "an allowance without a bottom": {
    noticedBy: "budget",
    wishes: { motif: "dark zone", boards: 5 },
    breaks: one("agent/base/token-bucket.ts", "return full.level >= 1 - 1e-9 ? [", "return full.level >= 0 ? ["),
  },
  "a stall bound that is ignored": {
    noticedBy: "blind",
    wishes: { motif: "deaf leader", boards: 3 },
    breaks: [
      {
        file: "agent/informer/watch-health.ts",
        text: "elapsed(health.lastHeard, now) < limits.stall;",
        by: "elapsed(health.lastHeard, now) < 1000 * limits.stall;",
      },
      {
        file: "agent/informer/stall-guard.ts",
        text: "new IdleTimer(clock, limit, ()",
        by: "new IdleTimer(clock, 1000 * limit, ()",
      },
    ],
  },
  "silence that needs no proof": {
    noticedBy: "blind",
    wishes: { motif: "deaf leader", boards: 3 },
    breaks: one("agent/controllers/node-lifecycle/health.ts", "proven: bySeeing ||", "proven: true || bySeeing ||"),
  },
  "a quarantine that holds nothing": {
    noticedBy: "quarantine",
    wishes: { motif: "forgetful API", policy: "kubernetes", boards: 5 },
    breaks: [
      {
        file: "agent/judgement/link.ts",
        text: "restoredAt !== undefined && releasedAt === undefined;",
        by: "restoredAt !== undefined && releasedAt === restoredAt;",
      },
      {
        file: "agent/judgement/link.ts",
        text: "elapsed(restoredAt, now) < gracePeriod ? shifted",
        by: "elapsed(restoredAt, now) < 0 * gracePeriod ? shifted",
      },
    ],
  },
  "a grace period that began before we looked": {
    noticedBy: "grace",
    wishes: { boards: 3 },
    breaks: one(
      "agent/controllers/node-lifecycle/health.ts",
      "answered, probe: now, heard, byStatus",
      "answered, probe: known ? now : shifted(now, -3_600_000), heard, byStatus",
    ),
  },
  "pods that tolerate nothing": {
    noticedBy: "tolerations",
    wishes: { motif: "dark zone", boards: 3 },
    breaks: one(
      "agent/controllers/taint-eviction/decide.ts",
      "if (deadlineOf(timer).mono > now.mono) return",
      "if (deadlineOf(timer).mono < 0) return",
    ),
  },
  "a taint that stays": {
    noticedBy: "converged",
    wishes: { motif: "flapping board", boards: 3 },
    breaks: one(
      "agent/controllers/node-lifecycle/taints.ts",
      "runningTaint(node) && changeTaints(",
      "runningTaint(node) && undefined && changeTaints(",
    ),
  },
  "pods that are forgotten": {
    noticedBy: "converged",
    wishes: { motif: "dark zone", boards: 3 },
    breaks: one(
      "agent/controllers/taint-eviction/controller.ts",
      "wakes: [wake(pods, podKeys), wake(nodes, keysOnBoard)],",
      "wakes: [wake(pods, podKeys)],",
    ),
  },
  "a Lease that is not given back": {
    noticedBy: "ending",
    wishes: { boards: 2 },
    breaks: one("agent/election/leadership.ts", "await this.#release();", "await Promise.resolve();"),
  },
  "a freeze that nobody minds": {
    noticedBy: "holds",
    wishes: { motif: "held site", boards: 5 },
    breaks: one(
      "agent/holds/holds.ts",
      "isRunning(freeze, now) && covers(freeze, place)",
      "isRunning(freeze, place as never)",
    ),
  },
  "a freeze that ends with its leader": {
    noticedBy: "holds",
    wishes: { motif: "held site", boards: 5 },
    breaks: one(
      "agent/holds/hold-book.ts",
      "const holds = (isOlder ? undefined : found) ?? { ...this.#memory.read(now), confirmed: new Map() };",
      "const holds = { ...noHolds, ...(found && isOlder && {}) };",
    ),
  },
  "a pause that nobody minds": {
    noticedBy: "holds",
    wishes: { motif: "held site", boards: 5 },
    breaks: one(
      "agent/leading/term-work.ts",
      "if (pause && isRunning(pause, now)) loop.pause();",
      "if (pause && !isRunning(pause, now)) loop.pause();",
    ),
  },
  "a restored server that nobody notices": {
    noticedBy: "cache",
    wishes: { motif: "restored API", boards: 3 },
    breaks: [
      {
        file: "agent/informer/server-history.ts",
        text: "if (order > 0 || isSame(found, before)) return;",
        by: "if (order !== 0 || isSame(found, before)) return;",
      },
      {
        file: "agent/informer/server-history.ts",
        text: "if (isSame(then, known)) return true;",
        by: "if (isSame(then, known) || then !== known) return true;",
      },
      {
        file: "agent/informer/trail.ts",
        text: "if (compareVersions(position, witness) <= 0) return {",
        by: "if (compareVersions(position, witness) <= 1e9) return {",
      },
    ],
  },
  "a history that is lost without a list": {
    noticedBy: "cache",
    wishes: { motif: "forgetful API", boards: 3 },
    breaks: one(
      "agent/informer/reflector.ts",
      'if (disposition === "relist") this.#expired = true;',
      'if (disposition === "relist") this.#expired = false;',
    ),
  },
} as const satisfies Record<string, Mutant>;

export const mutants: Readonly<Record<string, Mutant>> = list;

const root = new URL("../../../", import.meta.url).href;

export function mutantOf(name: string): Mutant {
  const mutant = mutants[name];
  if (mutant === undefined) throw new Error(`there is no mutant "${name}", but: ${Object.keys(mutants).join(", ")}`);
  return mutant;
}

/** From now on the agent's sources are loaded broken. */
export function mutate(mutant: Mutant): void {
  registerHooks({
    load: (url, context, next) => {
      const loaded = next(url, context);
      const breaks = mutant.breaks.filter(({ file }) => url === root + file);
      return breaks.length === 0 ? loaded : { ...loaded, source: breaks.reduce(broken, String(loaded.source)) };
    },
  });
}

function broken(source: string, { file, text, by }: Mutant["breaks"][number]): string {
  const pieces = source.split(text);
  if (pieces.length !== 2) throw new Error(`${file} has "${text}" ${pieces.length - 1} times, not once`);
  return pieces.join(by);
}

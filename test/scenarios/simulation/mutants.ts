import { registerHooks } from "node:module";

/** A way to break the agent: texts of its sources, each there exactly once, and what takes their place. */
export interface Mutant {
  readonly name: string;
  readonly breaks: readonly { readonly file: string; readonly text: string; readonly by: string }[];
  /** The check that has to notice, as its violations begin. */
  readonly noticedBy: string;
}

const one = (name: string, file: string, text: string, by: string, noticedBy: string): Mutant => ({
  name,
  breaks: [{ file, text, by }],
  noticedBy,
});

export const mutants: readonly Mutant[] = [
  one(
    "a fence that always says yes",
    "agent/runtime/fence.ts",
    "if (!term.standsAt(clock.now())) throw",
    "if (clock.now().mono < 0) throw",
    "terms",
  ),
  one(
    "a follower that waits for nobody",
    "agent/runtime/lease-rules.ts",
    "const held = shifted(now, validity(record, timing.duration));",
    "const held = shifted(now, 0 * validity(record, timing.duration));",
    "terms",
  ),
  one(
    "a count that begins anew with each Lease",
    "agent/runtime/lease-rules.ts",
    'return wait ?? { do: "create", term };',
    'return wait ?? { do: "create", term: term * 0 };',
    "terms",
  ),
  one(
    "a budget that is not carried over",
    "agent/assemble.ts",
    "decodeBudget(annotations[budgetAnnotation], begun)",
    "decodeBudget(annotations[budgetAnnotation] && undefined, begun)",
    "budget",
  ),
  one(
    "an allowance without a bottom",
    "agent/base/token-bucket.ts",
    "return full.level >= 1 - 1e-9 ? [",
    "return full.level >= 0 ? [",
    "budget",
  ),
  {
    name: "a stall bound that is ignored",
    noticedBy: "blind",
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
  one(
    "silence that needs no proof",
    "agent/controllers/node-lifecycle/health.ts",
    "proven: bySeeing ||",
    "proven: true || bySeeing ||",
    "blind",
  ),
  {
    name: "a quarantine that holds nothing",
    noticedBy: "quarantine",
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
  one(
    "a grace period that began before we looked",
    "agent/controllers/node-lifecycle/health.ts",
    "    probe: since,",
    "    probe: shifted(since, -3_600_000),",
    "grace",
  ),
  one(
    "a taint that stays",
    "agent/controllers/node-lifecycle/judge.ts",
    'if (board.ready === "True") return "clear";',
    'if (board.ready === "True") return "held";',
    "converged",
  ),
  one(
    "pods that are forgotten",
    "agent/controllers/taint-eviction/controller.ts",
    "wakes: [wake(pods, podKeys), wake(nodes, keysOnBoard)],",
    "wakes: [wake(pods, podKeys)],",
    "converged",
  ),
  one(
    "a history that is lost without a list",
    "agent/informer/reflector.ts",
    'if (disposition === "relist") this.#expired = true;',
    'if (disposition === "relist") this.#expired = false;',
    "",
  ),
];

const root = new URL("../../../", import.meta.url).href;

/** From now on the agent's sources are loaded broken. */
export function mutate(name: string): void {
  const mutant = mutants.find((other) => other.name === name);
  if (mutant === undefined) throw new Error(`there is no mutant "${name}"`);
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

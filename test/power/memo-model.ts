import type { Memo } from "../../storage/memo.ts";
import { mix } from "../storage/power-cut-model.ts";

type Facts = Pick<Memo, "set" | "delete" | "clear">;

const areas = ["leader", "memory/taint-eviction", "fleet"] as const;

/** The next state for an agent to store, by the seed and a number. */
export function deedOf(seed: number, number: number): (facts: Facts) => void {
  const kind = mix(seed, number, 11) % 100;
  const area = areas[mix(seed, number, 12) % areas.length] ?? "leader";
  const key = `key-${mix(seed, number, 13) % 12}`;
  if (kind < 70) return (facts) => facts.set(area, key, `${number} ${"v".repeat(mix(seed, number, 14) % 900)}`);
  if (kind < 98) return (facts) => facts.delete(area, key);
  return (facts) => facts.clear(area);
}

/** The stored state after a number of operations, as lines. */
export function rememberedAfter(seed: number, deeds: number): readonly string[] {
  const facts = new Map<string, string>();
  const model: Facts = {
    set: (area, key, value) => void facts.set(`${area} ${key}`, value),
    delete: (area, key) => void facts.delete(`${area} ${key}`),
    clear: (area) => {
      for (const name of [...facts.keys()]) if (name.startsWith(`${area} `)) facts.delete(name);
    },
  };
  for (let number = 1; number <= deeds; number++) deedOf(seed, number)(model);
  return [...facts].map(([name, value]) => `${name}=${value}`).sort();
}

export const remembered = (memo: Memo): readonly string[] =>
  areas.flatMap((area) => [...memo.entries(area)].map(([key, value]) => `${area} ${key}=${value}`)).sort();

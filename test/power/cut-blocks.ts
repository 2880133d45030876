import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Memo } from "../../storage/memo.ts";
import { StateFolder } from "../../storage/state-folder.ts";
import { pragmas } from "../storage/object-store.ts";
import { cacheOf, follow } from "../storage/power-cut-model.ts";
import { expectSound } from "../storage/soundness.ts";
import { SeededRandom } from "../support/seeded-random.ts";
import { Disk, type Fate, fates } from "./disk-model.ts";
import { remembered, rememberedAfter } from "./memo-model.ts";
import type { Deed } from "./recorded-writes.ts";

export interface CutStates {
  readonly states: number;
  readonly deeds: number;
  readonly syncs: number;
  /** The different positions of the cache after the cuts. */
  readonly positions: number;
}

/**
 * Cuts the recorded writes at `cuts` places, each with every outcome for unsynced writes, and opens the remaining files like
 * the agent. Throws at the first wrong state, and names it.
 */
export function cutEverywhere(
  deeds: readonly Deed[],
  { folder, seed, cuts }: { readonly folder: string; readonly seed: number; readonly cuts: number },
): CutStates {
  const random = new SeededRandom(seed);
  const places = new Set(Array.from({ length: cuts }, () => random.integer(deeds.length)));
  const disk = new Disk();
  const positions = new Set<number>();
  let [states, acknowledged] = [0, 0];
  deeds.forEach((deed, at) => {
    if (deed.file === "marks") acknowledged = numberIn(deed) ?? acknowledged;
    else if (!deed.file.endsWith("-shm")) disk.apply(deed);
    if (!places.has(at)) return;
    for (const fate of fates) {
      try {
        positions.add(check(disk.after(fate, random), { folder, seed, acknowledged, fate }, random));
        states++;
      } catch (error) {
        throw new Error(`after deed ${at} of ${deeds.length} (seed ${seed}), unsynced blocks: ${fate}`, {
          cause: error,
        });
      }
    }
  });
  return {
    states,
    deeds: deeds.length,
    syncs: deeds.filter(({ do: does }) => does === "sync").length,
    positions: positions.size,
  };
}

const numberIn = (deed: Deed): number | undefined => (deed.do === "write" ? Number(deed.bytes.toString()) : undefined);

/** Returns the position of the cache. */
function check(
  files: ReadonlyMap<string, Buffer>,
  { folder, seed, acknowledged, fate }: { folder: string; seed: number; acknowledged: number; fate: Fate },
  random: SeededRandom,
): number {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [name, bytes] of files) writeFileSync(path.join(folder, name), bytes);
  // The index of the log is never synced: its content is arbitrary.
  if (fate === "noise") writeFileSync(path.join(folder, "cache.db-shm"), Buffer.alloc(32_768, random.integer(256)));
  const { state, cache } = StateFolder.open({ folder, pragmas, stamp: "cut" });
  try {
    if (cache.rebuilt) throw new Error("the cache was discarded", { cause: cache.rebuilt });
    // Noise in a log that was just begun is reported but harmless: the main file has all acknowledged writes.
    const isLog = state.setAside?.file.includes("-wal") ?? false;
    if (state.setAside && !(isLog && fate === "noise")) {
      throw new Error("the state was set aside", { cause: state.setAside.why });
    }
    const facts = remembered(new Memo(state.database)).join("\n");
    // The operation in progress at the cut may be stored without an acknowledgement.
    const possible = [acknowledged, acknowledged + 1].map((deeds) => rememberedAfter(seed, deeds).join("\n"));
    if (!possible.includes(facts)) throw new Error(`state.db differs from ${acknowledged} acknowledged operations`);
    const store = cacheOf(cache.database);
    const position = expectSound(store, seed);
    follow(store, seed, 1);
    expectSound(store, seed);
    return position;
  } finally {
    cache.database.closeWithoutCheckpoint();
    state.database.closeWithoutCheckpoint();
  }
}

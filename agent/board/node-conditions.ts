import { elapsed, type Instant } from "../base/clock.ts";
import type { Standings } from "./board-sampler.ts";
import { type ClockState, timeToSync } from "./clock-sync.ts";
import { isWorn } from "./limits.ts";
import type { BoardReadings } from "./sensors/readings.ts";

/** A condition for the board's Node, without times. Messages contain no measured values, so that they rarely change. */
export interface WantedCondition {
  readonly type: string;
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

interface Texts {
  readonly bad: readonly [reason: string, message: string];
  readonly good: readonly [reason: string, message: string];
}

const texts = {
  PowerUndervoltage: {
    bad: ["SupplyVoltageLow", "the supply voltage fell below what the board needs"],
    good: ["SupplyVoltageGood", "the supply voltage is good"],
  },
  ThermalThrottled: {
    bad: ["SlowedDown", "the board is slowed down because of heat or power"],
    good: ["FullSpeed", "the board runs at full speed"],
  },
  StorageWearHigh: {
    bad: ["LifeUsedUp", "the storage reports that most of its life is used up"],
    good: ["LifeLeft", "the storage reports that it has life left"],
  },
  StorageVolatile: {
    bad: ["InMemory", "the agent's state is in memory and does not survive a restart of the board"],
    good: ["OnDisk", "the agent's state survives a restart of the board"],
  },
  ClockUnsynced: {
    bad: ["NeverSet", "the clock has not been set since the board started"],
    good: ["Set", "the clock has been set since the board started"],
  },
} as const satisfies Readonly<Record<string, Texts>>;

/** All types that an agent may write; `siteward release` removes them from the Nodes. */
export const conditionTypes: readonly string[] = Object.keys(texts);

/** The conditions for this board's Node. A condition that the board cannot measure is left out. */
export function nodeConditions(
  {
    readings,
    standings,
    clock,
    startedAt,
  }: {
    readonly readings: BoardReadings;
    readonly standings: Standings;
    readonly clock: ClockState;
    readonly startedAt: Instant;
  },
  now: Instant,
): readonly WantedCondition[] {
  const { power, temperature, storage } = readings;
  const isLate = elapsed(startedAt, now) >= timeToSync;
  const known: { readonly [type in keyof typeof texts]: boolean | undefined } = {
    PowerUndervoltage: power && standings.undervolted.long.since !== undefined,
    ThermalThrottled: power || temperature ? standings.throttled.long.since !== undefined : undefined,
    StorageWearHigh: storage.wear && isWorn(storage.wear),
    StorageVolatile: storage.fileSystem === undefined ? undefined : storage.isVolatile,
    ClockUnsynced: clock === "synced" ? false : isLate ? true : undefined,
  };
  return (Object.keys(texts) as readonly (keyof typeof texts)[]).flatMap((type) => {
    const isBad = known[type];
    if (isBad === undefined) return [];
    const [reason, message] = texts[type][isBad ? "bad" : "good"];
    return [{ type, status: isBad ? "True" : "False", reason, message }] as const;
  });
}

import type { Ambient } from "../base/ambient.ts";
import { type Millis, sleep } from "../base/clock.ts";
import type { Facts } from "../base/facts.ts";
import type { ChildOptions, Outcome } from "../board/child.ts";
import { type Inventory, inventoryFrom } from "../board/inventory.ts";
import type { Task } from "./upkeep.ts";

export interface InventoryParts {
  readonly facts: Facts;
  readonly bootId: string;
  /** Runs `siteward inventory --json` in a separate process. */
  readonly look: (options: ChildOptions) => Promise<Outcome>;
}

const area = "inventory";

/** Delays the inventory after a boot: the board is busy then, and all boards of a site are switched on together. */
const afterStart: Millis = 45_000;
const spread: Millis = 60_000;
const patience: Millis = 60_000;
const longestOutput = 65_536;

/** Keeps the board's inventory; renewed after each boot and once a day. */
export class InventoryTask implements Task {
  readonly name = "inventory";
  readonly #ambient: Ambient;
  readonly #parts: InventoryParts;

  constructor(ambient: Ambient, parts: InventoryParts) {
    this.#ambient = ambient;
    this.#parts = parts;
  }

  /** Undefined: no inventory has succeeded yet. */
  get inventory(): Inventory | undefined {
    const kept = this.#parts.facts.get(area, "found");
    return kept === undefined ? undefined : inventoryFrom(kept);
  }

  /** The inventory after a boot; skipped if only the process was restarted. */
  async afterBoot(signal: AbortSignal): Promise<void> {
    const { facts, bootId } = this.#parts;
    if (facts.get(area, "boot") === bootId) return;
    const { clock, random } = this.#ambient;
    await sleep(clock, afterStart + random.next() * spread, signal);
    if (!signal.aborted) await this.run(signal);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#ambient;
    const { facts, bootId, look } = this.#parts;
    const outcome = await look({ patience, longest: longestOutput, clock, signal });
    if (signal.aborted) return;
    const output = "output" in outcome ? outcome.output.trim() : undefined;
    if (output === undefined || !inventoryFrom(output)) {
      log.warn("no inventory", { why: "failed" in outcome ? outcome.failed : "its output is not understood" });
      return;
    }
    if (facts.get(area, "found") !== output) log.info("inventory", { ...inventoryFrom(output)?.system });
    // After a power cut in between the inventory is repeated at the next start.
    facts.set(area, "found", output);
    facts.set(area, "boot", bootId);
  }
}

import type { Ambient } from "../base/ambient.ts";
import { type Millis, sleep } from "../base/clock.ts";
import type { Facts } from "../base/facts.ts";
import type { ChildOptions, Outcome } from "../board/child.ts";
import { type Inventory, inventoryFrom } from "../board/inventory.ts";
import type { Task } from "./upkeep.ts";

export interface InventoryParts {
  readonly facts: Facts;
  readonly bootId: string;
  /** Runs `siteward inventory --json` in a process of its own. */
  readonly look: (options: ChildOptions) => Promise<Outcome>;
}

const area = "inventory";

/** A board that starts has better things to do, and the boards of a site are switched on together. */
const afterStart: Millis = 45_000;
const spread: Millis = 60_000;
const patience: Millis = 60_000;
const longestOutput = 65_536;

/** What the board is made of, as it was looked at last; looked at again after each boot and once a day. */
export class InventoryTask implements Task {
  readonly name = "inventory";
  readonly #ambient: Ambient;
  readonly #parts: InventoryParts;

  constructor(ambient: Ambient, parts: InventoryParts) {
    this.#ambient = ambient;
    this.#parts = parts;
  }

  /** Undefined: no look has succeeded yet. */
  get inventory(): Inventory | undefined {
    const kept = this.#parts.facts.get(area, "found");
    return kept === undefined ? undefined : inventoryFrom(kept);
  }

  /** The look that follows a boot; a process that was only restarted has nothing new to see. */
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
    // A power cut in between looks once more after the next start.
    facts.set(area, "found", output);
    facts.set(area, "boot", bootId);
  }
}

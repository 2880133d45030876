import type { Ambient } from "../base/ambient.ts";
import { type Millis, sleep } from "../base/clock.ts";
import type { KeyValueStore } from "../base/key-value-store.ts";
import type { ChildOptions, ProgramOutput } from "../board/child.ts";
import { type Inventory, inventoryFrom } from "../board/inventory.ts";
import type { Task } from "./upkeep.ts";

export interface InventoryDeps {
  readonly facts: KeyValueStore;
  readonly bootId: string;
  /** Runs `siteward inventory --json` in a separate process. */
  readonly collect: (options: ChildOptions) => Promise<ProgramOutput>;
}

const area = "inventory";

/** After a boot, the inventory waits for this long, because the board is busy, … */
const afterStart: Millis = 45_000;
/** … plus a random part of this time, because all boards of a site may boot together. */
const spread: Millis = 60_000;
/** Time limit of the separate process. */
const timeLimit: Millis = 60_000;
/** Maximum output that is read, in bytes. */
const maxOutputLength = 65_536;

/** Collects the board's inventory after each boot and at each maintenance, and stores it. */
export class InventoryTask implements Task {
  readonly name = "inventory";
  readonly #ambient: Ambient;
  readonly #deps: InventoryDeps;

  constructor(ambient: Ambient, deps: InventoryDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
  }

  /** The stored inventory; undefined if none has ever been collected. */
  get inventory(): Inventory | undefined {
    const kept = this.#deps.facts.get(area, "found");
    return kept === undefined ? undefined : inventoryFrom(kept);
  }

  /** Collects the inventory after a boot. Does nothing if only the process was restarted. */
  async afterBoot(signal: AbortSignal): Promise<void> {
    const { facts, bootId } = this.#deps;
    if (facts.get(area, "boot") === bootId) return;
    const { clock, random } = this.#ambient;
    await sleep(clock, afterStart + random.next() * spread, signal);
    if (!signal.aborted) await this.run(signal);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#ambient;
    const { facts, bootId, collect } = this.#deps;
    const outcome = await collect({ patience: timeLimit, longest: maxOutputLength, clock, signal });
    if (signal.aborted) return;
    const output = "output" in outcome ? outcome.output.trim() : undefined;
    if (output === undefined || !inventoryFrom(output)) {
      log.warn("the inventory cannot be collected", {
        why: "failed" in outcome ? outcome.failed : "its output cannot be parsed",
      });
      return;
    }
    if (facts.get(area, "found") !== output) log.info("inventory", { ...inventoryFrom(output)?.system });
    // After a power cut between the two writes, the next start collects the inventory again.
    facts.set(area, "found", output);
    facts.set(area, "boot", bootId);
  }
}

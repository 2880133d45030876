import type { Ambient } from "../base/ambient.ts";
import { type Millis, sleep } from "../base/clock.ts";
import type { ReadFact } from "./facts.ts";

/** synced: a source better than the board's own clock has set it since this boot. */
export type ClockState = "synced" | "unsynced";

/** A board needs this long after its start to set its clock: until then an unsynced clock is not reported. */
export const timeToSync: Millis = 600_000;

export interface ClockSource {
  readonly state: ClockState;
  /** "timesyncd", "ntp" for another client, "configured" if the clock need not be set; undefined while unsynced. */
  readonly source: string | undefined;
}

export interface ClockSyncParts {
  /** Something else keeps the time: a clock with a battery, the host of a virtual machine. */
  readonly isTrusted: boolean;
  readonly read: ReadFact;
  /** The answer of `timedatectl show -p NTPSynchronized --value`; undefined if it cannot be run. */
  readonly ask: (signal: AbortSignal) => Promise<string | undefined>;
  /** Called when it becomes synced. */
  readonly changed: () => void;
}

/** systemd-timesyncd creates this file when it has set the clock from a server. Checking it costs nothing. */
const marker = "/run/systemd/timesync/synchronized";

const period: Millis = 30_000;

/**
 * Whether the wall clock can be trusted. Checks every 30 s until it can, and never again: a clock set once since the
 * boot does not become wrong by decades. adjtimex(2) would answer for every client, but a script cannot call it.
 */
export class ClockSync {
  readonly #ambient: Ambient;
  readonly #parts: ClockSyncParts;
  #source: string | undefined;

  constructor(ambient: Ambient, parts: ClockSyncParts) {
    this.#ambient = ambient;
    this.#parts = parts;
    this.#source = parts.isTrusted ? "configured" : undefined;
  }

  state(): ClockState {
    return this.view().state;
  }

  /** Checks the file on every call, so that a clock set a second ago counts at once. */
  view(): ClockSource {
    if (this.#source === undefined && this.#parts.read(marker) !== undefined) this.#set("timesyncd");
    return this.#source === undefined
      ? { state: "unsynced", source: undefined }
      : { state: "synced", source: this.#source };
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.state() === "unsynced") {
      // chrony and ntpd create no such file; systemd-timedated asks the kernel.
      const answer = await this.#parts.ask(signal);
      if (answer?.trim() === "yes") this.#set("ntp");
      else await sleep(this.#ambient.clock, period, signal);
    }
  }

  #set(source: string): void {
    this.#source = source;
    this.#ambient.log.info("clock synced", { source });
    this.#parts.changed();
  }
}

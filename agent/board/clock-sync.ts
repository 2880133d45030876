import type { Ambient } from "../base/ambient.ts";
import { type Millis, sleep } from "../base/clock.ts";
import type { ReadFact } from "./facts.ts";

/** synced: some clock better than ours set it since this boot. */
export type ClockState = "synced" | "unsynced";

/** A board that has just started has not asked the time yet: before that an unsynced clock is nothing to tell of. */
export const timeToSync: Millis = 600_000;

export interface ClockSource {
  readonly state: ClockState;
  /** "timesyncd", "ntp" for another client, "configured" where it need not be set; undefined while unsynced. */
  readonly source: string | undefined;
}

export interface ClockSyncParts {
  /** Something else keeps it: a clock with a battery, the host of a virtual machine. */
  readonly isTrusted: boolean;
  readonly read: ReadFact;
  /** What `timedatectl show -p NTPSynchronized --value` answers; undefined where it cannot be asked. */
  readonly ask: (signal: AbortSignal) => Promise<string | undefined>;
  /** Called when it becomes synced. */
  readonly changed: () => void;
}

/** systemd-timesyncd makes this file when it has set the clock from a server. Asking it costs nothing. */
const marker = "/run/systemd/timesync/synchronized";

const period: Millis = 30_000;

/**
 * Whether the wall clock can be believed. Looks every 30 s until it can, and never again: what was set once since the boot
 * does not become wrong by decades. adjtimex(2) would say it for every client, but a script cannot call it.
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

  /** The file is looked for each time: nobody who asks hears of a clock that was set a second ago only at the next look. */
  view(): ClockSource {
    if (this.#source === undefined && this.#parts.read(marker) !== undefined) this.#set("timesyncd");
    return this.#source === undefined
      ? { state: "unsynced", source: undefined }
      : { state: "synced", source: this.#source };
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.state() === "unsynced") {
      // chrony and ntpd make no such file; systemd-timedated asks the kernel.
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

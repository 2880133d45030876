import type { Ambient } from "../base/ambient.ts";
import { type Millis, sleep } from "../base/clock.ts";
import type { ReadFact } from "./facts.ts";

/** synced: the wall clock has been set from a better source since boot, or is configured as trusted. */
export type ClockState = "synced" | "unsynced";

/** An unsynced clock is reported only this long after the agent's start: setting the clock may take a few minutes. */
export const timeToSync: Millis = 600_000;

export interface ClockSource {
  readonly state: ClockState;
  /** "timesyncd", "ntp" for any other client, "configured" for a clock that is trusted; undefined while unsynced. */
  readonly source: string | undefined;
}

export interface ClockSyncDeps {
  /** Whether the clock needs no check, because it has a battery, or the host of a virtual machine sets it. */
  readonly isTrusted: boolean;
  readonly read: ReadFact;
  /** The output of `timedatectl show -p NTPSynchronized --value`; undefined if the program cannot be run. */
  readonly ask: (signal: AbortSignal) => Promise<string | undefined>;
  /** Called when the clock becomes synced. */
  readonly changed: () => void;
}

/** systemd-timesyncd creates this file when it has set the clock from a server. Checking it costs nothing. */
const marker = "/run/systemd/timesync/synchronized";

const period: Millis = 30_000;

/**
 * Determines whether the wall clock can be trusted. Checks every 30 s until it is synced, and never again, because a
 * clock that has been set once since boot does not become wrong by decades. adjtimex(2) would be the direct answer, but
 * Node.js has no binding for it.
 */
export class ClockSync {
  readonly #ambient: Ambient;
  readonly #deps: ClockSyncDeps;
  #source: string | undefined;

  constructor(ambient: Ambient, deps: ClockSyncDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
    this.#source = deps.isTrusted ? "configured" : undefined;
  }

  state(): ClockState {
    return this.view().state;
  }

  /** Checks timesyncd's file on every call, so that a clock set a second ago is noticed immediately. */
  view(): ClockSource {
    if (this.#source === undefined && this.#deps.read(marker) !== undefined) this.#set("timesyncd");
    return this.#source === undefined
      ? { state: "unsynced", source: undefined }
      : { state: "synced", source: this.#source };
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.state() === "unsynced") {
      // chrony and ntpd do not create the marker; timedatectl gets its answer from the kernel, regardless of the NTP
      // client.
      const answer = await this.#deps.ask(signal);
      if (answer?.trim() === "yes") this.#set("ntp");
      else await sleep(this.#ambient.clock, period, signal);
    }
  }

  #set(source: string): void {
    this.#source = source;
    this.#ambient.log.info("clock synced", { source });
    this.#deps.changed();
  }
}

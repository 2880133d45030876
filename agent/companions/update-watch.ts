import type { Ambient } from "../base/ambient.ts";
import type { Instant } from "../base/clock.ts";
import type { Facts } from "../base/facts.ts";
import type { FleetEventSink } from "../fleet/fleet-events.ts";
import type { Told } from "../status/told.ts";
import type { Companion } from "./companions.ts";
import type { ProcessControls } from "./process-controls.ts";
import { afterStart, isUnhealthy, tooManyCrashes, trialIn, trialTime, type UpdateTrial } from "./update-trial.ts";

export interface UpdateWatchParts {
  readonly facts: Facts;
  readonly version: string;
  readonly bootId: string;
  readonly process: Pick<ProcessControls, "startedAt" | "previous">;
  readonly fleet: FleetEventSink | undefined;
  readonly news: () => void;
}

const area = "update";
const key = "trial";

/** Reports a version that crashes after its installation. Rolling back is left to an operator. */
export class UpdateWatch implements Companion {
  readonly name = "update";
  readonly #ambient: Ambient;
  readonly #parts: UpdateWatchParts;
  #unhealthy: UpdateTrial | undefined;

  constructor(ambient: Ambient, parts: UpdateWatchParts) {
    this.#ambient = ambient;
    this.#parts = parts;
  }

  async run(): Promise<void> {
    const { facts, version, bootId, process, fleet, news } = this.#parts;
    const at = Math.round(process.startedAt.mono);
    const before = trialIn(facts.get(area, key));
    const after = afterStart(before, { version, boot: bootId, at, previous: process.previous });
    if (after.crashes >= tooManyCrashes) {
      this.#unhealthy = after;
      news();
    }
    if (after === before) return;
    const { former, crashes } = after;
    // Recorded before the trial is persisted: a process that dies in between reports twice rather than never.
    if (crashes === tooManyCrashes)
      fleet?.note({ type: "update.unhealthy", severity: "critical", detail: { version, former, crashes } });
    try {
      facts.set(area, key, JSON.stringify(after));
    } catch (error) {
      this.#ambient.log.warn("what becomes of the update cannot be written down", { error });
    }
  }

  /** Reports the unhealthy update with the command for going back. */
  told(now: Instant): Told {
    const trial = this.#unhealthy;
    if (!trial || !isUnhealthy(trial, this.#parts.bootId, now.mono)) return {};
    const { version, former, crashes } = trial;
    const minutes = trialTime / 60_000;
    return {
      problems: [
        {
          type: "UpdateUnhealthy",
          severity: "critical",
          message: `since the update from ${former} to ${version} the agent crashed ${crashes} times, and has not run for ${minutes} minutes since`,
          hint: `journalctl -u siteward says why; back to the former version: sudo apt install --allow-downgrades ${packageFile(former)} (if it is not there, copy it to the board first)`,
        },
      ],
    };
  }
}

/** Path of a board's packages as in operator.md. Debian versions have a tilde where a pre-release has a dash. */
const packageFile = (version: string | undefined): string =>
  `/var/cache/siteward/siteward_${version?.replace("-", "~") ?? "VERSION"}_*.deb`;

import type { Ambient } from "../base/ambient.ts";
import type { Instant } from "../base/clock.ts";
import type { KeyValueStore } from "../base/key-value-store.ts";
import type { FleetEventSink } from "../fleet/reporting/fleet-events.ts";
import type { StatusContribution } from "../status/contribution.ts";
import type { Companion } from "./companion.ts";
import type { ProcessControls } from "./process-controls.ts";
import { afterStart, isUnhealthy, tooManyCrashes, trialIn, trialTime, type UpdateTrial } from "./update-trial.ts";

export interface UpdateWatchDeps {
  readonly facts: KeyValueStore;
  readonly version: string;
  readonly bootId: string;
  readonly process: Pick<ProcessControls, "startedAt" | "previous">;
  readonly fleet: FleetEventSink | undefined;
  readonly statusChanged: () => void;
}

const area = "update";
const key = "trial";

/** Reports a version that crashes after its installation. Rolling back is left to an operator. */
export class UpdateWatch implements Companion {
  readonly name = "update";
  readonly #ambient: Ambient;
  readonly #deps: UpdateWatchDeps;
  #unhealthy: UpdateTrial | undefined;

  constructor(ambient: Ambient, deps: UpdateWatchDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
  }

  async run(): Promise<void> {
    const { facts, version, bootId, process, fleet, statusChanged } = this.#deps;
    const at = Math.round(process.startedAt.mono);
    const before = trialIn(facts.get(area, key));
    const after = afterStart(before, { version, boot: bootId, at, previous: process.previous });
    if (after.crashes >= tooManyCrashes) {
      this.#unhealthy = after;
      statusChanged();
    }
    if (after === before) return;
    const { former, crashes } = after;
    // The event comes first, so if the process ends in between, it is reported twice rather than never.
    if (crashes === tooManyCrashes)
      fleet?.note({ type: "update.unhealthy", severity: "critical", detail: { version, former, crashes } });
    try {
      facts.set(area, key, JSON.stringify(after));
    } catch (error) {
      this.#ambient.log.warn("the record of the agent's last software update could not be stored", { error });
    }
  }

  /** Reports the unhealthy update with the command for going back. */
  contribution(now: Instant): StatusContribution {
    const trial = this.#unhealthy;
    if (!trial || !isUnhealthy(trial, this.#deps.bootId, now.mono)) return {};
    const { version, former, crashes } = trial;
    const minutes = trialTime / 60_000;
    return {
      problems: [
        {
          type: "UpdateUnhealthy",
          severity: "critical",
          message: `since the update from ${former} to ${version}, the agent has crashed ${crashes} times, the last time less than ${minutes} minutes ago`,
          hint: `see journalctl -u siteward for the cause; to return to the previous version: sudo apt install --allow-downgrades ${packageFile(former)} (if the file is missing, copy it to the board first)`,
        },
      ],
    };
  }
}

/**
 * Where operators keep packages (docs/operator.md). In Debian versions, pre-releases have a tilde instead of a dash.
 */
const packageFile = (version: string | undefined): string =>
  `/var/cache/siteward/siteward_${version?.replace("-", "~") ?? "VERSION"}_*.deb`;

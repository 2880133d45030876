import type { StateFolder } from "../../storage/state-folder.ts";
import type { Agent } from "../assembly/agent.ts";
import type { Ambient } from "../base/ambient.ts";
import type { Instant } from "../base/clock.ts";
import type { Io } from "../base/io.ts";
import type { Config } from "../config/settings.ts";
import type { StatusContribution } from "../status/contribution.ts";
import type { Status } from "../status/schema.ts";
import type { ProcessControls } from "./process-controls.ts";

export interface CompanionDeps {
  readonly ambient: Ambient;
  readonly config: Config;
  readonly agent: Agent;
  readonly folder: StateFolder;
  readonly io: Io;
  /** Operations on the process that runs the agent. */
  readonly controls: ProcessControls;
  /** Rejects if no connection to the API server could be opened with the credentials currently on disk. */
  readonly checkCredentials: () => Promise<void>;
  /** The latest status; undefined before the first one. */
  readonly status: () => Status | undefined;
  /** Called after each change that must appear in the status file immediately. */
  readonly statusChanged: () => void;
  readonly bootId: string;
  readonly version: string;
}

/** A task that runs alongside the agent, in the same process and for the same time. It must never block the agent. */
export interface Companion {
  readonly name: string;
  run(signal: AbortSignal): Promise<void>;
  /** This companion's part of the status. Called for each new status. */
  contribution?(now: Instant): StatusContribution;
  /** Called after the status file was written. */
  written?(status: Status): void;
}

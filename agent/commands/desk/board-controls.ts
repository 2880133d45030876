import type { Millis } from "../../base/clock.ts";
import type { JsonRecord } from "../../base/json.ts";
import type { Level } from "../../base/logger.ts";
import type { Effect } from "./controls.ts";

export interface DiagnosticsOptions {
  readonly sections: readonly string[] | undefined;
  readonly logsSince: Millis | undefined;
  /** Where the archive is sent by HTTPS PUT. The host was already found among those that are allowed. */
  readonly upload: URL | undefined;
}

/** Where a setting's value was written. */
export type Source = "default" | "profile" | "file" | "remote" | "environment";

/** What commands need of the board that they are sent to. Parts that are not there are `undefined`, and answered as such. */
export interface BoardControls {
  readonly version: string;
  readonly bootId: string;
  uptime(): Millis;
  /** The status document, of at most 32 KiB; a summary is a few members of it. Undefined: there is none yet. */
  status(detail: "summary" | "full"): JsonRecord | undefined;
  /** The number of the desired configuration in force. */
  configVersion(): number | undefined;
  /** The settings in force by dotted path, secrets redacted, each with where it was written. */
  config(source: Source | undefined): JsonRecord;
  /** What this agent can do; where there is a fleet, its birth message is published anew. */
  announce(): JsonRecord;
  /** `undefined`: the configured one again. With `component` only of what a controller, or the mirror of a resource, says. */
  setLogLevel(level: Level | undefined, component?: string): void;
  readonly collectDiagnostics:
    | ((options: DiagnosticsOptions, progress: (done: JsonRecord) => void, signal: AbortSignal) => Promise<Effect>)
    | undefined;
  compact(vacuum: boolean, dryRun: boolean): Promise<Effect>;
  /** Asks the process to end, so that it is started again. The answer is given by the next process. */
  restart(cause: string): void;
  reloadCredentials(dryRun: boolean, signal: AbortSignal): Promise<Effect>;
  readonly applyConfig: ((version: number, canary: Millis | undefined, dryRun: boolean) => Promise<Effect>) | undefined;
  readonly rollbackConfig: ((toVersion: number | undefined, dryRun: boolean) => Promise<Effect>) | undefined;
}

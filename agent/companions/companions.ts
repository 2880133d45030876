import { Memo } from "../../storage/memo.ts";
import type { StateFolder } from "../../storage/state-folder.ts";
import type { Agent } from "../assemble.ts";
import type { Ambient } from "../base/ambient.ts";
import type { Instant } from "../base/clock.ts";
import type { Io } from "../base/io.ts";
import type { Config } from "../config/settings.ts";
import type { Status } from "../status/schema.ts";
import type { Told } from "../status/told.ts";
import { boardWatch, nodeReport, upkeep } from "./board-companions.ts";
import { collectDiagnostics } from "./collect-diagnostics.ts";
import { CommandCenter } from "./command-center.ts";
import { fleetOf } from "./fleet-companion.ts";
import { judgeWatch } from "./judge-watch.ts";
import type { ProcessControls } from "./process-controls.ts";
import { UpdateWatch } from "./update-watch.ts";

export interface CompanionParts {
  readonly ambient: Ambient;
  readonly config: Config;
  readonly agent: Agent;
  readonly folder: StateFolder;
  readonly io: Io;
  /** Controls of the enclosing process. */
  readonly controls: ProcessControls;
  /** The status taken last; undefined: none yet. */
  readonly status: () => Status | undefined;
  /** Called on changes the status file should show at once. */
  readonly news: () => void;
  readonly bootId: string;
  readonly version: string;
}

/** A task that runs beside the agent, in the same process and for as long. Must never block the agent. */
export interface Companion {
  readonly name: string;
  run(signal: AbortSignal): Promise<void>;
  /** Contribution to the status, requested whenever one is taken. */
  told?(now: Instant): Told;
  /** Called after the status file was written. */
  written?(status: Status): void;
}

/** Creates all companions. Code that costs memory is loaded by import(), and only if it is configured. */
export async function companions(parts: CompanionParts): Promise<readonly Companion[]> {
  const { ambient, agent, folder, io } = parts;
  const board = boardWatch(parts);
  const calendar = upkeep(parts, board);
  const clockState = () => board.clock.state();
  const fleet = await fleetOf(ambient, {
    ...parts,
    database: folder.state.database,
    env: io.env,
    clockState,
    standing: () => agent.siteControls.standing(),
    desk: () => center.desk,
    facts: () => ({ inventory: calendar.inventory(), ...center.birth() }),
  });
  const center = new CommandCenter({
    ...parts,
    site: agent.siteControls,
    counters: agent.counters,
    clockState,
    fleet,
    collectDiagnostics: collectDiagnostics(parts),
  });
  const update = new UpdateWatch(ambient, {
    ...parts,
    facts: new Memo(folder.state.database),
    process: parts.controls,
    fleet,
  });
  const beside = [board, calendar, nodeReport(parts, board), judgeWatch(ambient, parts), center, update];
  return fleet ? [...beside, fleet] : beside;
}

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
  /** Of the process that all this lives in. */
  readonly controls: ProcessControls;
  /** As it was taken last; undefined: not yet. */
  readonly status: () => Status | undefined;
  /** Called when something changed that a person may be waiting for. */
  readonly news: () => void;
  readonly bootId: string;
  readonly version: string;
}

/** Something that runs beside the agent, in the same process and for as long. It must never hold the agent up. */
export interface Companion {
  readonly name: string;
  run(signal: AbortSignal): Promise<void>;
  /** What the status says of it; asked every time that a status is taken. */
  told?(now: Instant): Told;
  /** The status file was written. */
  written?(status: Status): void;
}

/** What runs beside the agent, one line each. What costs memory is loaded by import(), and only where it is configured. */
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

import { Memo } from "../../storage/memo.ts";
import { boardWatch, createUpkeep, nodeReport } from "./board-companions.ts";
import { collectDiagnostics } from "./collect-diagnostics.ts";
import { CommandCenter } from "./command-center.ts";
import type { Companion, CompanionDeps } from "./companion.ts";
import { CredentialsWatch } from "./credentials-watch.ts";
import { fleetOf } from "./fleet-companion.ts";
import { judgeWatch } from "./judge-watch.ts";
import { UpdateWatch } from "./update-watch.ts";

/**
 * Creates all companions. The fleet's link is created first, because commands use it; it receives the command desk when
 * it runs. Code that takes much memory is loaded with import(), and only if it is configured.
 */
export async function companions(deps: CompanionDeps): Promise<readonly Companion[]> {
  const { ambient, agent, folder, io, status } = deps;
  const board = boardWatch(deps);
  const calendar = createUpkeep(deps, board);
  const clockState = () => board.clock.state();
  const fleet = await fleetOf(ambient, {
    ...deps,
    database: folder.state.database,
    env: io.env,
    clockState,
    standing: () => agent.siteControls.standing(),
    takeChanges: () => agent.decisions.takeChanges(),
    inventory: () => calendar.inventory(),
  });
  const center = new CommandCenter({
    ...deps,
    site: agent.siteControls,
    decisions: agent.decisions,
    counters: agent.commandCounters,
    clockState,
    fleet,
    collectDiagnostics: collectDiagnostics(deps),
  });
  const update = new UpdateWatch(ambient, {
    ...deps,
    facts: new Memo(folder.state.database),
    process: deps.controls,
    fleet,
  });
  const credentials = new CredentialsWatch(ambient, { ...deps, isUp: () => status()?.link?.api?.state === "up" });
  const beside = [board, calendar, nodeReport(deps, board), judgeWatch(ambient, deps), credentials, center, update];
  if (fleet === undefined) return beside;
  const run = (signal: AbortSignal): Promise<void> => fleet.run(signal, center.desk);
  return [...beside, { name: "fleet", run, contribution: (now) => fleet.contribution(now) }];
}

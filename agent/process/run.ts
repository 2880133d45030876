import type { Ambient } from "../base/ambient.ts";
import type { Io, Run } from "../base/io.ts";
import { FieldLogger } from "../base/logger.ts";
import { readFact } from "../board/read-fact.ts";
import { startRemote } from "../config/remote-file.ts";
import type { RemoteRecord } from "../config/remote-record.ts";
import { leftOutText } from "../fleet/configuration/config-problems.ts";
import { notifierOf, numberIn } from "../status/sd-notify.ts";
import { ServiceManager } from "../status/service-manager.ts";
import { AgentSupervisor } from "./agent-supervisor.ts";
import { configOf } from "./load-config.ts";
import { ProcessLog } from "./process-log.ts";

/** `siteward run`: the agent of this board, until it is stopped. */
export const run: Run = async (io, args) => {
  const load = (record?: RemoteRecord) => configOf(io, args.values.get("config"), readFact, record && (() => record));
  // `startRemote` counts this start. If settings on trial end the process several times, they are rolled back.
  let [remoteSetAside, isRestored]: [string | undefined, boolean] = [undefined, false];
  const loaded = configOf(io, args.values.get("config"), readFact, (folder) => {
    const started = startRemote(folder);
    remoteSetAside = started.setAside;
    isRestored = started.isRestored;
    return started.record;
  });
  const log = new ProcessLog(io, loaded.config);
  const ambient: Ambient = { clock: io.clock, random: io.random, log: new FieldLogger(log) };
  for (const warning of loaded.warnings) ambient.log.warn("configuration", { warning });
  if (isRestored)
    ambient.log.warn("configuration", { warning: "remote.json was missing and was restored from its copy" });
  if (loaded.leftOut) ambient.log.error("configuration", { warning: leftOutText(loaded.leftOut) });
  const notifier = notifierOf({ env: io.env, pid: process.pid });
  const service = new ServiceManager(ambient, { notifier });
  return await new AgentSupervisor(ambient, {
    io,
    log,
    loaded,
    load,
    remoteSetAside,
    service,
    watchdogPeriod: watchdogPeriod(io.env),
  }).run();
};

/** The watchdog period in milliseconds, as sd_watchdog_enabled(3) defines it. */
function watchdogPeriod({ WATCHDOG_USEC: period, WATCHDOG_PID: pid }: Io["env"]): number | undefined {
  if (pid !== undefined && numberIn(pid) !== process.pid) return undefined;
  const microseconds = numberIn(period);
  return microseconds ? microseconds / 1000 : undefined;
}

import { timingProblems } from "../base/lease-timing.ts";
import { exactDuration } from "../base/time/exact-duration.ts";
import { formatBytes } from "./bytes.ts";
import type { Config } from "./settings.ts";
import { shadowedSettings } from "./shadow-mode.ts";

/** A conflict between settings. */
export interface SettingsConflict {
  /** The setting that is most likely wrong. */
  readonly path: string;
  /** The settings that it conflicts with; empty if it is invalid by itself. */
  readonly against: readonly string[];
  readonly message: string;
}

/** The conflicts between the settings of the merged configuration. */
export function conflicts(config: Config): readonly SettingsConflict[] {
  const { leader, link, nodeLifecycle, status } = config;
  const found: SettingsConflict[] = [];
  const demand = (holds: boolean, [path, ...against]: readonly [string, ...string[]], message: string): void => {
    if (!holds) found.push({ path, against, message });
  };

  demand(
    leader.duration % 1000 === 0,
    ["leader.duration"],
    `${exactDuration(leader.duration)} must be in whole seconds, because a Lease stores whole seconds`,
  );
  for (const { setting, against, message } of timingProblems(leader))
    found.push({ path: `leader.${setting}`, against: against.map((name) => `leader.${name}`), message });
  demand(
    nodeLifecycle.gracePeriod > nodeLifecycle.monitorPeriod,
    ["nodeLifecycle.gracePeriod", "nodeLifecycle.monitorPeriod"],
    `${exactDuration(nodeLifecycle.gracePeriod)} must be longer than nodeLifecycle.monitorPeriod ` +
      `(${exactDuration(nodeLifecycle.monitorPeriod)})`,
  );
  demand(
    link.blip < link.watchStall,
    ["link.blip", "link.watchStall"],
    `${exactDuration(link.blip)} must be shorter than link.watchStall (${exactDuration(link.watchStall)})`,
  );
  demand(
    status.minInterval <= status.every,
    ["status.minInterval", "status.every"],
    `${exactDuration(status.minInterval)} must not be longer than status.every (${exactDuration(status.every)})`,
  );
  const { judgement } = config;
  demand(
    judgement.compare === "off" || judgement.policy !== "kubernetes",
    ["judgement.compare", "judgement.policy"],
    "must be off under policy kubernetes, which needs no comparison with itself",
  );
  const [shadowed] = shadowedSettings(config);
  demand(
    judgement.compare === "off" || shadowed === undefined,
    ["judgement.compare", ...(shadowed === undefined ? [] : [shadowed])],
    "must be off while a controller is in shadow mode, which is compared with what others do",
  );
  demand(
    judgement.compare === "off" || config.controllers.nodeLifecycle.mode !== "off",
    ["judgement.compare", "controllers.nodeLifecycle.mode"],
    "must be off while controllers.nodeLifecycle.mode is off, because no board is then judged",
  );
  const { memory } = config;
  demand(
    memory.soft <= memory.hard,
    ["memory.soft", "memory.hard"],
    `${formatBytes(memory.soft)} must not be more than memory.hard (${formatBytes(memory.hard)})`,
  );
  const { mqtt } = config;
  demand(
    mqtt.url === undefined || mqtt.fleet !== undefined,
    ["mqtt.fleet", "mqtt.url"],
    "must name the fleet that the broker of mqtt.url belongs to",
  );
  demand(
    mqtt.minInterval <= mqtt.heartbeat,
    ["mqtt.minInterval", "mqtt.heartbeat"],
    `${exactDuration(mqtt.minInterval)} must not be longer than mqtt.heartbeat (${exactDuration(mqtt.heartbeat)})`,
  );
  return found;
}

import { formatBytes } from "./bytes.ts";
import { exactDuration } from "./exact-duration.ts";
import type { Config } from "./settings.ts";

/** A rule that ties several settings together. `path` names the one that is most likely wrong. */
export interface Conflict {
  readonly path: string;
  readonly message: string;
}

/** client-go's jitter: a retry comes up to 1.2 × later than asked, and must still fit into the renew deadline. */
const jitterFactor = 1.2;

/** What no single setting can say: found when everything is put together, so that no half of a change is judged. */
export function conflicts(config: Config): readonly Conflict[] {
  const { leader, link, nodeLifecycle, status } = config;
  const found: Conflict[] = [];
  const demand = (holds: boolean, path: string, message: string): void => {
    if (!holds) found.push({ path, message });
  };

  demand(
    leader.duration % 1000 === 0,
    "leader.duration",
    `${exactDuration(leader.duration)} is not in whole seconds, as a Lease has it`,
  );
  demand(
    leader.duration > leader.renewDeadline,
    "leader.renewDeadline",
    `${exactDuration(leader.renewDeadline)} must be shorter than leader.duration (${exactDuration(leader.duration)})`,
  );
  demand(
    leader.renewDeadline > jitterFactor * leader.retry,
    "leader.retry",
    `${exactDuration(leader.retry)} must be shorter than leader.renewDeadline ` +
      `(${exactDuration(leader.renewDeadline)}) divided by ${jitterFactor}`,
  );
  demand(
    nodeLifecycle.gracePeriod > nodeLifecycle.monitorPeriod,
    "nodeLifecycle.gracePeriod",
    `${exactDuration(nodeLifecycle.gracePeriod)} must be longer than nodeLifecycle.monitorPeriod ` +
      `(${exactDuration(nodeLifecycle.monitorPeriod)})`,
  );
  demand(
    link.blip < link.watchStall,
    "link.blip",
    `${exactDuration(link.blip)} must be shorter than link.watchStall (${exactDuration(link.watchStall)})`,
  );
  demand(
    status.minInterval <= status.every,
    "status.minInterval",
    `${exactDuration(status.minInterval)} must not be longer than status.every (${exactDuration(status.every)})`,
  );
  const { memory } = config;
  demand(
    memory.soft <= memory.hard,
    "memory.soft",
    `${formatBytes(memory.soft)} must not be more than memory.hard (${formatBytes(memory.hard)})`,
  );
  const { mqtt } = config;
  demand(
    mqtt.url === undefined || mqtt.fleet !== undefined,
    "mqtt.fleet",
    "must name the fleet that the broker of mqtt.url belongs to",
  );
  demand(
    mqtt.minInterval <= mqtt.heartbeat,
    "mqtt.minInterval",
    `${exactDuration(mqtt.minInterval)} must not be longer than mqtt.heartbeat (${exactDuration(mqtt.heartbeat)})`,
  );
  return found;
}

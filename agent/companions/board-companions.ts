import { Memo } from "../../storage/memo.ts";
import type { Instant } from "../base/clock.ts";
import { TaskGroup } from "../base/concurrency/tasks.ts";
import { runChild } from "../board/child.ts";
import type { Inventory } from "../board/inventory.ts";
import { parseCron } from "../config/cron.ts";
import { InventoryTask } from "../upkeep/inventory-task.ts";
import { integrityCheck, tidying, wearReport } from "../upkeep/tasks.ts";
import { utc } from "../upkeep/time-zone.ts";
import { Upkeep } from "../upkeep/upkeep.ts";
import { BoardWatch } from "./board-watch.ts";
import type { Companion, CompanionDeps } from "./companion.ts";
import { NodeReport } from "./node-report.ts";

/** Creates the companion that watches the board, and connects it to the agent. */
export function boardWatch({ ambient, config, agent, statusChanged }: CompanionDeps): BoardWatch {
  // Once the clock is set, certificates that seemed not yet valid may be accepted (docs/interfaces.md#clocks), so the
  // API is contacted immediately.
  const watch = new BoardWatch(ambient, {
    config,
    statusChanged,
    clockSet: () => agent.elector.readNow(),
    apiSkew: () => agent.clockSkew,
  });
  // The first status should already include the board's readings.
  watch.look();
  agent.heed(watch);
  return watch;
}

/** The companion for scheduled maintenance and the hardware inventory. */
export interface UpkeepCompanion extends Companion {
  inventory(): Inventory | undefined;
}

export function createUpkeep(
  { ambient, config, folder, io, bootId }: CompanionDeps,
  board: BoardWatch,
): UpkeepCompanion {
  const [program = "", ...args] = [...io.self, "inventory", "--json"];
  const inventory = new InventoryTask(ambient, {
    facts: new Memo(folder.state.database),
    bootId,
    collect: (options) => runChild(program, args, options),
  });
  const databases = [folder.state.database, folder.cache.database];
  const work = new Upkeep(ambient, {
    schedule: parseCron(config.upkeep.schedule) ?? never,
    zone: board.zone ?? utc,
    clock: () => board.clock.state(),
    tasks: [
      ...databases.map((database) => integrityCheck(ambient, database)),
      ...databases.map((database) => tidying(ambient, database)),
      wearReport(ambient, board),
      inventory,
    ],
  });
  return {
    name: "upkeep",
    inventory: () => inventory.inventory,
    run: async (signal) => {
      const tasks = new TaskGroup(signal);
      tasks.start("inventory", (inner) => inventory.afterBoot(inner));
      tasks.start("calendar", (inner) => work.run(inner));
      await tasks.join();
    },
  };
}

/** The fallback only satisfies the type checker, because the schedule was validated when the configuration was read. */
const never = { minutes: [], hours: [], daysOfMonth: [], months: [], daysOfWeek: [] };

export function nodeReport({ ambient, config, agent, folder, version }: CompanionDeps, board: BoardWatch): Companion {
  return new NodeReport(ambient, {
    client: agent.client,
    node: config.board.node,
    version,
    lease: `${config.leader.namespace}/siteward-${config.site.name}`,
    conditions: (now: Instant) => board.conditions(now),
    obstacle: () => folder.obstacle() ?? agent.unwell,
    isResting: () => agent.elector.view().orderedUntil !== undefined,
    announcement: () => agent.announcement(),
    cached: () => agent.ownNode(),
    isLedByCopy: () => agent.isLedByCopy(ambient.clock.now()),
    facts: new Memo(folder.state.database),
  });
}

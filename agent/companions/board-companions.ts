import { Memo } from "../../storage/memo.ts";
import type { Instant } from "../base/clock.ts";
import { TaskGroup } from "../base/tasks.ts";
import { runChild } from "../board/child.ts";
import type { Inventory } from "../board/inventory.ts";
import { parseCron } from "../config/cron.ts";
import { InventoryTask } from "../upkeep/inventory-task.ts";
import { integrityCheck, tidying, wearReport } from "../upkeep/tasks.ts";
import { utc } from "../upkeep/time-zone.ts";
import { Upkeep } from "../upkeep/upkeep.ts";
import { BoardWatch } from "./board-watch.ts";
import type { Companion, CompanionParts } from "./companions.ts";
import { NodeReport } from "./node-report.ts";

/** Watches over the board, and lets the agent know how it is. */
export function boardWatch({ ambient, config, agent, news }: CompanionParts): BoardWatch {
  // A certificate that was not valid yet is now (docs/interfaces.md#clocks): the API is asked at once, and not after
  // the next pause.
  const watch = new BoardWatch(ambient, {
    config,
    news,
    clockSet: () => agent.elector.look(),
    apiSkew: () => agent.clockSkew,
  });
  // What the first status says of the board is there with it.
  watch.look();
  agent.heed(watch);
  return watch;
}

/** What is done by the calendar, and what the board is made of. */
export interface UpkeepCompanion extends Companion {
  inventory(): Inventory | undefined;
}

export function upkeep({ ambient, config, folder, io, bootId }: CompanionParts, board: BoardWatch): UpkeepCompanion {
  const [program = "", ...args] = [...io.self, "inventory", "--json"];
  const inventory = new InventoryTask(ambient, {
    facts: new Memo(folder.state.database),
    bootId,
    look: (options) => runChild(program, args, options),
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

/** The setting was checked where it was read. */
const never = { minutes: [], hours: [], daysOfMonth: [], months: [], daysOfWeek: [] };

export function nodeReport({ ambient, config, agent, folder, version }: CompanionParts, board: BoardWatch): Companion {
  return new NodeReport(ambient, {
    client: agent.client,
    node: config.board.node,
    version,
    lease: `${config.leader.namespace}/siteward-${config.site.name}`,
    conditions: (now: Instant) => board.conditions(now),
    obstacle: () => folder.obstacle() ?? board.sickness()?.why,
    facts: new Memo(folder.state.database),
  });
}

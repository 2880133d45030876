import { createHash } from "node:crypto";
import type { Database } from "../../storage/database/database.ts";
import type { Ambient } from "../base/ambient.ts";
import type { JsonRecord } from "../base/json.ts";
import type { ClockState } from "../board/clock-sync.ts";
import type { Inventory } from "../board/inventory.ts";
import type { SiteControls } from "../commands/desk/controls.ts";
import { allowedCommands } from "../commands/desk/definitions/registry.ts";
import { readPolicy } from "../commands/desk/policy.ts";
import { publishedSchema } from "../commands/desk/published-schema.ts";
import { unsignedSettings } from "../commands/desk/signed-settings.ts";
import { readTrust, trustReader } from "../commands/desk/trust.ts";
import type { Config } from "../config/settings.ts";
import type { ChangeSummary } from "../decisions/decision-changes.ts";
import type { BoardFleet } from "../fleet/board-fleet.ts";
import type { Status } from "../status/schema.ts";
import type { ProcessControls } from "./process-controls.ts";

export interface FleetSurroundings {
  readonly config: Config;
  readonly database: Database;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly bootId: string;
  readonly version: string;
  readonly controls: Pick<ProcessControls, "loaded" | "faultsOf" | "reload">;
  readonly clockState: () => ClockState;
  readonly status: () => Status | undefined;
  readonly standing: SiteControls["standing"];
  readonly takeChanges: () => ChangeSummary | undefined;
  readonly statusChanged: () => void;
  readonly inventory: () => Inventory | undefined;
}

/** The board's link to the fleet; undefined if no fleet is configured, in which case its code is not loaded. */
export async function fleetOf(ambient: Ambient, around: FleetSurroundings): Promise<BoardFleet | undefined> {
  const { config, database, env, bootId, controls } = around;
  const { url, fleet } = config.mqtt;
  if (url === undefined || fleet === undefined) return undefined;
  const [{ BoardFleet: Parts }, { mqttLinks }] = await Promise.all([
    import("../fleet/board-fleet.ts"),
    import("../fleet/mqtt/mqtt-link.ts"),
  ]);
  const trust = trustReader(ambient.clock, config.commands.trust);
  return new Parts(ambient, {
    config,
    identity: { fleet, site: config.site.name, board: config.board.name },
    url: new URL(url),
    open: mqttLinks(ambient.clock),
    database,
    env,
    bootId,
    remoteVersion: () => controls.loaded.remoteVersion,
    reload: () => controls.reload().outcome,
    leftOut: () => controls.loaded.leftOut?.faults ?? [],
    judge: (document) => controls.faultsOf(document),
    unsigned: (message) => unsignedSettings(message, trust(), ambient.clock.now().wall),
    clockState: around.clockState,
    status: around.status,
    standing: around.standing,
    birth: () => birthOf(around),
    takeChanges: around.takeChanges,
    statusChanged: around.statusChanged,
  });
}

/** The board's birth message: its versions, hardware and abilities. */
function birthOf({ config, version, bootId, status, inventory }: FleetSurroundings): JsonRecord {
  const { board, commands, mqtt, remote } = config;
  const { isInstalled, keys } = readTrust(commands.trust);
  const found = status();
  return {
    version,
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
    bootId,
    kubernetesNode: board.node,
    profile: found?.identity.profile,
    hardware: { model: found?.board?.model, ramBytes: found?.board?.ramBytes, compatible: found?.board?.compatible },
    commands: allowedCommands(readPolicy(commands.policy)),
    config: { isTaken: remote.enabled, locked: remote.locked },
    limits: { packetBytes: mqtt.maxPacket, receive: mqtt.receiveMaximum, outboxEvents: mqtt.outbox.eventRows },
    persistence: found?.journal?.persistence,
    inventory: inventory(),
    security: { signing: isInstalled ? "required" : "off", keys: [...keys.keys()] },
    commandSchema: createHash("sha256")
      .update(JSON.stringify(publishedSchema(undefined)))
      .digest("hex"),
  };
}

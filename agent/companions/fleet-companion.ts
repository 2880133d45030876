import type { Database } from "../../storage/database.ts";
import type { Ambient } from "../base/ambient.ts";
import type { JsonRecord } from "../base/json.ts";
import type { ClockState } from "../board/clock-sync.ts";
import type { SiteControls } from "../commands/desk/controls.ts";
import type { CommandTaker } from "../commands/desk/desk.ts";
import { judgeRemote } from "../config/remote-judge.ts";
import type { Fault, Kept } from "../config/remote-record.ts";
import type { Config } from "../config/settings.ts";
import type { BoardFleet } from "../fleet/board-fleet.ts";
import type { Status } from "../status/schema.ts";
import type { ProcessControls } from "./process-controls.ts";

export interface FleetSurroundings {
  readonly config: Config;
  readonly database: Database;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly bootId: string;
  readonly version: string;
  readonly controls: Pick<ProcessControls, "loaded" | "problemsWith" | "reload">;
  readonly clockState: () => ClockState;
  readonly status: () => Status | undefined;
  readonly standing: SiteControls["standing"];
  readonly desk: () => CommandTaker;
  readonly news: () => void;
  /** Further facts for the birth: inventory, security, persistence. */
  readonly facts?: () => JsonRecord;
}

/** The board's fleet link. Without a configured fleet none of its code is loaded. */
export async function fleetOf(ambient: Ambient, around: FleetSurroundings): Promise<BoardFleet | undefined> {
  const { config, database, env, bootId, controls } = around;
  const { url, fleet } = config.mqtt;
  if (url === undefined || fleet === undefined) return undefined;
  const [{ BoardFleet: Parts }, { mqttLinks }] = await Promise.all([
    import("../fleet/board-fleet.ts"),
    import("../fleet/mqtt-link.ts"),
  ]);
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
    judge: (document) => faultsOf(document, config, controls),
    clockState: around.clockState,
    status: around.status,
    standing: around.standing,
    birth: () => birthOf(around),
    desk: around.desk,
    news: around.news,
  });
}

/** Validates each setting, then all of them together with this board's own. */
function faultsOf(
  document: Kept,
  { remote }: Config,
  controls: Pick<ProcessControls, "problemsWith">,
): readonly Fault[] {
  const faults = judgeRemote(document.config, remote.locked);
  if (faults.length > 0) return faults;
  return controls.problemsWith(document).map((message) => ({ path: "", code: "schema", message }));
}

function birthOf({ config, version, bootId, status, desk, facts }: FleetSurroundings): JsonRecord {
  const { board, mqtt, remote } = config;
  const found = status();
  return {
    version,
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
    bootId,
    kubernetesNode: board.node,
    profile: found?.identity.profile,
    hardware: { model: found?.board?.model, ramBytes: found?.board?.ramBytes, compatible: found?.board?.compatible },
    commands: desk().known(),
    config: { isTaken: remote.enabled, locked: remote.locked },
    limits: { packetBytes: mqtt.maxPacket, receive: mqtt.receiveMaximum, outboxEvents: mqtt.outbox.eventRows },
    persistence: found?.journal?.persistence,
    ...facts?.(),
  };
}

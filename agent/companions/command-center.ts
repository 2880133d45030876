import { createHash } from "node:crypto";
import { join } from "node:path";
import { CommandLog } from "../../storage/command-log.ts";
import { Memo } from "../../storage/memo.ts";
import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import type { JsonRecord } from "../base/json.ts";
import type { Moment } from "../base/lasting-end.ts";
import { TaskGroup } from "../base/tasks.ts";
import type { ClockState } from "../board/clock-sync.ts";
import type { SiteControls, SiteCounters } from "../commands/desk/controls.ts";
import { CommandDesk } from "../commands/desk/desk.ts";
import { Ledger } from "../commands/desk/ledger.ts";
import { LogLevels } from "../commands/desk/log-levels.ts";
import { readPolicy } from "../commands/desk/policy.ts";
import { publishedSchema } from "../commands/desk/published-schema.ts";
import { readTrust } from "../commands/desk/trust.ts";
import { ControlSocket } from "../commands/operator-api/control-socket.ts";
import { exposition } from "../commands/operator-api/exposition.ts";
import { metricsOf } from "../commands/operator-api/metrics.ts";
import type { ProblemPart } from "../status/parts.ts";
import { replaceFile } from "../status/replace-file.ts";
import type { Status } from "../status/schema.ts";
import type { Told } from "../status/told.ts";
import { stuckCondition } from "../status/watchdog.ts";
import type { Companion, CompanionParts } from "./companions.ts";
import { OwnBoard, type OwnBoardParts } from "./own-board.ts";

export interface CommandCenterParts
  extends Pick<CompanionParts, "ambient" | "config" | "folder" | "controls" | "status" | "news" | "bootId" | "version">,
    Pick<OwnBoardParts, "fleet" | "collectDiagnostics"> {
  readonly site: SiteControls;
  readonly counters: SiteCounters;
  readonly clockState: () => ClockState;
}

const rulesLook: Millis = 30_000;

/** The command desk with its log, the control socket, and the metrics. */
export class CommandCenter implements Companion {
  readonly name = "commands";
  readonly desk: CommandDesk;
  readonly #parts: CommandCenterParts;
  readonly #socket: ControlSocket;
  #isFailing = false;
  #looked: { readonly at: Instant; readonly problems: readonly ProblemPart[] } | undefined;

  constructor(parts: CommandCenterParts) {
    const { ambient, config, folder, bootId, clockState, site, counters, news, status } = parts;
    const { database } = folder.state;
    const moment = (): Moment => ({ now: ambient.clock.now(), bootId, isSynced: clockState() === "synced" });
    const board = new OwnBoard(ambient.clock, {
      ...parts,
      databases: [database, folder.cache.database],
      known: () => this.desk.known(),
    });
    this.#parts = parts;
    this.desk = new CommandDesk(ambient, {
      board: config.board.name,
      ledger: new Ledger(ambient, { log: new CommandLog(database), moment }),
      levels: new LogLevels(ambient, { memo: new Memo(database), board, moment }),
      site,
      counters,
      controls: board,
      clock: clockState,
      rules: () => ({ trust: readTrust(config.commands.trust), policy: readPolicy(config.commands.policy) }),
      obstacle: () => folder.obstacle(),
      changed: news,
    });
    this.#socket = new ControlSocket(ambient, {
      file: join(config.run.folder, "ctl.sock"),
      desk: this.desk,
      stuck: () => conditionsOf(status(), [stuckCondition]),
      missing: () => [...missing(status()), ...list(folder.obstacle())],
      status,
      metrics: () => this.#metrics(status()),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const tasks = new TaskGroup(signal);
    tasks.start("desk", (inner) => this.desk.run(inner));
    tasks.start("control socket", (inner) => this.#socket.run(inner));
    await tasks.join();
  }

  told(now: Instant): Told {
    return { commands: this.desk.counts.latest, problems: this.#ruleProblems(now) };
  }

  /** Facts about commands for the birth message. */
  birth(): JsonRecord {
    const { isInstalled, keys } = readTrust(this.#parts.config.commands.trust);
    const schema = createHash("sha256")
      .update(JSON.stringify(publishedSchema(undefined)))
      .digest("hex");
    return { security: { signing: isInstalled ? "required" : "off", keys: [...keys.keys()] }, commandSchema: schema };
  }

  /** Writes the metrics file whenever the status file was written. */
  written(status: Status): void {
    const { ambient, config } = this.#parts;
    const file = join(config.run.folder, "metrics.prom");
    try {
      replaceFile(file, this.#metrics(status));
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) ambient.log.warn("the metrics cannot be written", { file, error });
      this.#isFailing = true;
    }
  }

  /** An unusable file locks commands out, so operators need to know. */
  #ruleProblems(now: Instant): readonly ProblemPart[] {
    if (this.#looked && elapsed(this.#looked.at, now) < rulesLook) return this.#looked.problems;
    const { trust, policy } = this.#parts.config.commands;
    const { problem } = readPolicy(policy);
    const problems: readonly ProblemPart[] = [
      ...readTrust(trust).problems.map(
        (message): ProblemPart => ({
          type: "TrustedKeyUnusable",
          subject: message.split(":")[0],
          severity: "warning",
          message: `a trusted key counts for nothing: ${message}`,
          hint: "siteward keygen makes usable ones; the agent's user must be able to read the file",
        }),
      ),
      ...list(problem).map(
        (message): ProblemPart => ({
          type: "CommandPolicyUnusable",
          severity: "warning",
          message: `the fleet may only read: ${message}`,
          hint: `correct the file, or remove it: ${policy}`,
        }),
      ),
    ];
    this.#looked = { at: now, problems };
    return problems;
  }

  #metrics(status: Status | undefined): string {
    return status ? exposition(metricsOf(status, this.desk.counts.view())) : "";
  }
}

const missing = (status: Status | undefined): readonly string[] =>
  status ? conditionsOf(status, ["AgentHeld", "AgentEnded"]) : ["there is no status yet"];

const conditionsOf = (status: Status | undefined, types: readonly string[]): readonly string[] =>
  (status?.health.conditions ?? []).filter(({ type }) => types.includes(type)).map(({ message }) => message);

const list = (problem: string | undefined): readonly string[] => (problem === undefined ? [] : [problem]);

import { join } from "node:path";
import { CommandLog } from "../../storage/command-log.ts";
import { Memo } from "../../storage/memo.ts";
import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import { TaskGroup } from "../base/concurrency/tasks.ts";
import { counted } from "../base/text/counted.ts";
import { listed } from "../base/text/listed.ts";
import type { Moment } from "../base/time/lasting-end.ts";
import type { ClockState } from "../board/clock-sync.ts";
import type { CommandCounters, Draining, SiteControls } from "../commands/desk/controls.ts";
import { allowedCommands } from "../commands/desk/definitions/registry.ts";
import { CommandDesk } from "../commands/desk/desk.ts";
import { Ledger } from "../commands/desk/ledger.ts";
import { LogLevels } from "../commands/desk/log-levels.ts";
import { readPolicy } from "../commands/desk/policy.ts";
import { readTrust } from "../commands/desk/trust.ts";
import { BoardOperations, type BoardOperationsDeps } from "../commands/operations/board-operations.ts";
import { ControlSocket } from "../commands/operator-api/control-socket.ts";
import { exposition } from "../commands/operator-api/exposition.ts";
import { metricsOf } from "../commands/operator-api/metrics.ts";
import { timeOf } from "../status/board-problems.ts";
import type { StatusContribution } from "../status/contribution.ts";
import type { ProblemPart } from "../status/parts.ts";
import { replaceFile } from "../status/replace-file.ts";
import type { Status } from "../status/schema.ts";
import { stuckCondition } from "../status/watchdog.ts";
import type { Companion, CompanionDeps } from "./companion.ts";

export interface CommandCenterDeps
  extends Pick<
      CompanionDeps,
      "ambient" | "config" | "folder" | "controls" | "status" | "statusChanged" | "bootId" | "version"
    >,
    Pick<BoardOperationsDeps, "fleet" | "collectDiagnostics" | "decisions"> {
  readonly site: SiteControls;
  readonly counters: CommandCounters;
  readonly clockState: () => ClockState;
}

const checkRulesEvery: Millis = 30_000;

/** Runs the command desk and the control socket, and writes the metrics file. */
export class CommandCenter implements Companion {
  readonly name = "commands";
  readonly desk: CommandDesk;
  readonly #deps: CommandCenterDeps;
  readonly #socket: ControlSocket;
  #isFailing = false;
  #ruleCheck: { readonly at: Instant; readonly problems: readonly ProblemPart[] } | undefined;

  constructor(deps: CommandCenterDeps) {
    const { ambient, config, folder, bootId, clockState, site, counters, statusChanged, status } = deps;
    const { database } = folder.state;
    const moment = (): Moment => ({ now: ambient.clock.now(), bootId, isSynced: clockState() === "synced" });
    const board = new BoardOperations(ambient.clock, {
      ...deps,
      databases: [database, folder.cache.database],
      allowed: () => allowedCommands(readPolicy(config.commands.policy)),
    });
    this.#deps = deps;
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
      changed: statusChanged,
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

  contribution(now: Instant): StatusContribution {
    return {
      commands: this.desk.counts.latest,
      problems: [
        ...this.#ruleProblems(now),
        ...damageProblem(this.desk.damaged),
        ...drainProblem(this.#deps.site.draining(), now),
      ],
    };
  }

  /** Writes the metrics file whenever the status file has been written. */
  written(status: Status): void {
    const { ambient, config } = this.#deps;
    const file = join(config.run.folder, "metrics.prom");
    try {
      replaceFile(file, this.#metrics(status));
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) ambient.log.warn("metrics file not written", { file, error });
      this.#isFailing = true;
    }
  }

  /** Problems with the trusted keys or the policy file, because of which the board refuses commands. */
  #ruleProblems(now: Instant): readonly ProblemPart[] {
    if (this.#ruleCheck && elapsed(this.#ruleCheck.at, now) < checkRulesEvery) return this.#ruleCheck.problems;
    const { trust, policy } = this.#deps.config.commands;
    const { problem } = readPolicy(policy);
    const problems: readonly ProblemPart[] = [
      ...readTrust(trust).problems.map(
        ({ file, why }): ProblemPart => ({
          type: "TrustedKeyUnusable",
          subject: file,
          severity: "warning",
          message: `a trusted key is not used: ${file}: ${why}`,
          hint: "make a usable key with siteward keygen; the agent's user must be able to read the file",
        }),
      ),
      ...list(problem).map(
        (message): ProblemPart => ({
          type: "CommandPolicyUnusable",
          severity: "warning",
          message: `fleet commands that change something are refused: ${message}`,
          hint: `correct the file, or remove it: ${policy}`,
        }),
      ),
    ];
    this.#ruleCheck = { at: now, problems };
    return problems;
  }

  #metrics(status: Status | undefined): string {
    return status ? exposition(metricsOf(status, this.desk.counts.view())) : "";
  }
}

/**
 * A drain may evict pods for up to six hours, which must be visible even to someone who does not know of its command.
 */
export function drainProblem(drain: Draining | undefined, now: Instant): readonly ProblemPart[] {
  if (drain === undefined) return [];
  const { board, by, reason, until, evicted, left, refused } = drain;
  const why = reason === undefined ? "" : ` (${reason})`;
  const order = `${by} is draining ${board}, until ${timeOf(until, now)} at the latest${why}`;
  const blocked = refused.count === 0 ? "" : `; evictions refused so far: ${listed(refused.some, refused.count)}`;
  const progress =
    left === undefined ? "its pods are not listed yet" : `${counted(evicted, "pod")} evicted, ${left} left${blocked}`;
  const budgets =
    refused.count === 0 ? "" : "a disruption budget may allow none of them to leave: kubectl get pdb -A; ";
  return [
    {
      type: "BoardDraining",
      subject: board,
      severity: "info",
      message: `${order}: ${progress}`,
      hint: `${budgets}siteward cmd board.uncordon --reason TEXT ends it and puts the board back into service`,
    },
  ];
}

function damageProblem(ids: ReadonlySet<string>): readonly ProblemPart[] {
  const [first] = ids;
  if (first === undefined) return [];
  const others = ids.size > 1 ? ` and ${ids.size - 1} more` : "";
  return [
    {
      type: "CommandRecordDamaged",
      severity: "warning",
      message: `the stored answer to command ${first}${others} cannot be read`,
      hint: "check what the command did before you send it again; run siteward journal verify",
    },
  ];
}

const missing = (status: Status | undefined): readonly string[] =>
  status ? conditionsOf(status, ["AgentHeld", "AgentEnded"]) : ["there is no status yet"];

const conditionsOf = (status: Status | undefined, types: readonly string[]): readonly string[] =>
  (status?.health.conditions ?? []).filter(({ type }) => types.includes(type)).map(({ message }) => message);

const list = (problem: string | undefined): readonly string[] => (problem === undefined ? [] : [problem]);

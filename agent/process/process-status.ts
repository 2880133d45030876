import { join } from "node:path";
import type { OpenedState } from "../../storage/database/open.ts";
import { makeFolder } from "../../storage/make-folder.ts";
import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import type { Io } from "../base/io.ts";
import { listed } from "../base/text/listed.ts";
import { formatDuration } from "../base/time/duration.ts";
import { bootClock, bootId, model, processMemory, ramBytes } from "../board/facts.ts";
import { readFact } from "../board/read-fact.ts";
import type { Ending } from "../companions/process-controls.ts";
import type { Config } from "../config/settings.ts";
import { leftOutProblem } from "../fleet/configuration/config-problems.ts";
import { withContributions } from "../status/contribution.ts";
import type { Parts, ProblemPart } from "../status/parts.ts";
import { replaceFile } from "../status/replace-file.ts";
import type { Status } from "../status/schema.ts";
import { snapshot } from "../status/snapshot.ts";
import { StatusFile } from "../status/status-file.ts";
import { type Stuck, stuckCondition } from "../status/watchdog.ts";
import type { AgentRun } from "./agent-run.ts";
import type { LoadedConfig } from "./load-config.ts";
import { userMessageOf } from "./user-message.ts";
import { version } from "./version.ts";

/** The state of the process, without that of its agent. */
export interface ProcessView {
  readonly startedAt: Instant;
  readonly loaded: LoadedConfig;
  readonly life: AgentRun | undefined;
  /** The error that ended the agent's last run, or that forced its state into memory; undefined if there is none. */
  readonly failure: { readonly error: unknown } | undefined;
  /** True while the agent waits for its next run, or while it runs with its state in memory. */
  readonly isHeld: boolean;
  readonly setAside: OpenedState["setAside"];
  /** Where a damaged remote.json was moved. */
  readonly remoteSetAside: string | undefined;
  /** The problems of a new configuration that was refused. */
  readonly refused: readonly string[];
  readonly stuck: readonly Stuck[];
  /** Whether systemd's watchdog, which ends a stuck process, is on. */
  readonly isWatched: boolean;
  readonly isTooLarge: boolean;
  readonly ending: Ending | undefined;
  readonly previous: Ending | undefined;
}

/**
 * Creates the process's status file for this configuration. Each run of the agent creates another one, which continues
 * from `before`.
 */
export function processStatus(
  ambient: Ambient,
  parts: {
    readonly io: Io;
    readonly config: Config;
    readonly view: () => ProcessView;
    /** The status file of an earlier configuration. */
    readonly before: StatusFile | undefined;
    readonly written: (status: Status) => void;
  },
): StatusFile {
  const { io, config, view, before: former, written } = parts;
  const file: StatusFile = new StatusFile(ambient, {
    file: join(config.run.folder, "status.json"),
    last: former?.last,
    limits: config.status,
    replace: (path, text) => {
      // The folder may be removed while the agent is running, for example by a clean-up of its tmpfs.
      makeFolder(config.run.folder);
      replaceFile(path, text);
      if (!file.last) return;
      written(file.last);
      view().life?.written(file.last);
    },
    take: (before, writeFailures) => {
      const now = ambient.clock.now();
      const whole = view();
      return snapshot(
        withContributions(partsOf(whole, { io, writeFailures }, now), whole.life?.contributions(now) ?? []),
        before,
      );
    },
  });
  return file;
}

function partsOf(
  view: ProcessView,
  { io, writeFailures }: { readonly io: Io; readonly writeFailures: number },
  now: Instant,
): Parts {
  const { startedAt, loaded, life, ending, previous, setAside } = view;
  const { config, profile, files, warnings } = loaded;
  const agent = life?.parts(now);
  return {
    now,
    process: {
      pid: process.pid,
      version,
      startedAt,
      bootId: bootId(readFact),
      writtenBootMs: bootClock(readFact) ?? 0,
      staleAfterMs: 3 * config.status.every,
      invocationId: io.env.INVOCATION_ID,
      writeFailures,
      ending,
      previous,
    },
    identity: {
      site: config.site.name,
      board: config.board.name,
      node: config.board.node,
      profile: profile?.id,
      fleet: config.mqtt.url === undefined ? undefined : config.mqtt.fleet,
    },
    memory: {
      ...processMemory(readFact),
      heapUsedBytes: process.memoryUsage().heapUsed,
      softBytes: config.memory.soft,
      hardBytes: config.memory.hard,
    },
    board: { model: model(readFact), ramBytes: ramBytes(readFact) },
    config: { files, warnings },
    ...agent,
    problems: [
      ...(agent?.problems ?? []),
      ...(agent && setAside ? [asideProblem(setAside)] : []),
      ...lossProblems(life?.stateLoss),
      ...(agent && !view.isHeld ? [] : ends(view)),
      ...ownProblems(view, now),
    ],
  };
}

const asideProblem = ({ file, why }: NonNullable<OpenedState["setAside"]>): ProblemPart => {
  const cause = why.cause instanceof Error ? ` (${why.cause.message})` : "";
  return {
    type: "StateSetAside",
    severity: "warning",
    message: `state.db was damaged${cause} and is now ${file}`,
    hint: "running toleration times started over, and unsent messages, answers to commands and the reasons for decisions are lost; the old file is kept for inspection",
  };
};

/** The problem of a state.db that was removed, replaced or truncated while the agent had it open. */
export const lossProblems = (loss: AgentRun["stateLoss"]): readonly ProblemPart[] =>
  loss === undefined
    ? []
    : [
        {
          type: "StateLost",
          severity: "warning",
          message: `state.db was ${loss} while the agent was using it; its contents will be lost when the agent stops or reloads`,
          hint: "find out which program did this, then restart the service; its new state.db will be empty, so running toleration times start over, and unsent messages, answers to commands and the reasons for decisions are lost",
        },
      ];

/** The problem to show if no agent is running, or if it is running with its state in memory. */
function ends({ failure, isHeld, life }: ProcessView): readonly ProblemPart[] {
  if (!failure) return [];
  const { message, hint } = userMessageOf(failure.error);
  const rest =
    isHeld && life
      ? "; until the state folder can be written, this board reports and answers, but neither leads nor changes anything"
      : "";
  return [{ type: isHeld ? "AgentHeld" : "AgentEnded", severity: "critical", message: `${message}${rest}`, hint }];
}

/** How long after a start the end of the previous process is reported. */
const recent: Millis = 3_600_000;

function ownProblems(view: ProcessView, now: Instant): ProblemPart[] {
  const { loaded, remoteSetAside, refused, stuck, isWatched, isTooLarge, previous, startedAt } = view;
  const found: ProblemPart[] = stuck.map(({ name, since }) => ({
    type: stuckCondition,
    subject: name,
    severity: "critical",
    message: `${name} has made no progress for ${formatDuration(elapsed(since, now))}`,
    hint: `${isWatched ? "systemd restarts the agent" : "restart the agent"}; this is a bug in the agent: report it, with the log`,
  }));
  const [first] = refused;
  if (first !== undefined) {
    found.push({
      type: "ConfigRefused",
      severity: "warning",
      message: `the new configuration is invalid, and the previous one stays in force: ${listed([first], refused.length)}`,
      hint: "correct the file (siteward config check FILE), then: systemctl reload siteward",
    });
  }
  if (remoteSetAside !== undefined) {
    found.push({
      type: "StateSetAside",
      subject: "remote.json",
      severity: "warning",
      message: `remote.json, which has the fleet's settings, was damaged; the damaged file is now ${remoteSetAside}`,
      hint: "the settings come from its copy, if that is sound; the old file is kept for inspection",
    });
  }
  if (loaded.leftOut) found.push(leftOutProblem(loaded.leftOut));
  if (isTooLarge) {
    found.push({
      type: "MemoryAboveLimit",
      severity: "warning",
      message:
        "the agent uses more memory than memory.hard, and did so soon after it started, so a restart would not help",
      hint: "raise memory.hard and the unit's MemoryMax, if the board can spare it",
    });
  }
  if (previous && elapsed(startedAt, now) < recent && previous.cause in endings) {
    found.push({
      type: "RestartedItself",
      severity: previous.cause === "unclean" ? "info" : "warning",
      message: `${endings[previous.cause]}${previous.message === undefined ? "" : `: ${previous.message}`}`,
      hint: "see the agent's log before its last start (journalctl -u siteward)",
    });
  }
  return found;
}

/** Descriptions of the causes that end the process without a request. */
const endings: Readonly<Record<string, string>> = {
  memory: "the previous process used too much memory and ended",
  storage: "the previous process ended to make way for one that can write the state folder",
  failure: "the previous process ended with an error",
  watchdog: "systemd's watchdog ended the previous process",
  unclean: "the previous process ended without giving a reason",
};

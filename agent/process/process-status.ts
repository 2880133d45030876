import { join } from "node:path";
import { makeFolder } from "../../storage/make-folder.ts";
import type { OpenedState } from "../../storage/open.ts";
import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import { formatDuration } from "../base/duration.ts";
import type { Io } from "../base/io.ts";
import { bootClock, bootId, model, processMemory, ramBytes } from "../board/facts.ts";
import { readFact } from "../board/read-fact.ts";
import type { Ending } from "../companions/process-controls.ts";
import type { Config } from "../config/settings.ts";
import type { Parts, ProblemPart } from "../status/parts.ts";
import { replaceFile } from "../status/replace-file.ts";
import type { Status } from "../status/schema.ts";
import { snapshot } from "../status/snapshot.ts";
import { StatusFile } from "../status/status-file.ts";
import { completed } from "../status/told.ts";
import { type Stuck, stuckCondition } from "../status/watchdog.ts";
import type { AgentRun } from "./agent-run.ts";
import type { LoadedConfig } from "./load-config.ts";
import { statusParts } from "./status-parts.ts";
import { toldOf } from "./told-of.ts";
import { version } from "./version.ts";

/** The state of the process itself, beside that of the agent in it. */
export interface ProcessView {
  readonly startedAt: Instant;
  readonly loaded: LoadedConfig;
  readonly life: AgentRun | undefined;
  /** The error that ended the last life. */
  readonly failure: { readonly error: unknown } | undefined;
  /** The agent waits for another attempt, or runs on a makeshift. */
  readonly isHeld: boolean;
  readonly setAside: OpenedState["setAside"];
  /** The problems of a new configuration that was refused. */
  readonly refused: readonly string[];
  readonly stuck: readonly Stuck[];
  /** Systemd's watchdog is on: it ends a stuck process. */
  readonly isWatched: boolean;
  readonly isTooLarge: boolean;
  readonly ending: Ending | undefined;
  readonly previous: Ending | undefined;
}

/** The status file of a process, until a change of the configuration may move it. */
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
      // The folder may be removed while the agent runs, by a clean-up of its tmpfs.
      makeFolder(config.run.folder);
      replaceFile(path, text);
      if (!file.last) return;
      written(file.last);
      view().life?.written(file.last);
    },
    take: (before, writeFailures) => {
      const now = ambient.clock.now();
      const whole = view();
      return snapshot(completed(partsOf(whole, { io, writeFailures }, now), whole.life?.told(now) ?? []), before);
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
  const views = life?.views(now);
  const { problems = [], ...agent } = views ? statusParts({ ...views, setAside }, now) : {};
  return {
    now,
    process: {
      pid: process.pid,
      version,
      startedAt,
      bootId: bootId(readFact),
      bootMs: bootClock(readFact) ?? 0,
      staleAfter: 3 * config.status.every,
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
    problems: [...problems, ...(views && !view.isHeld ? [] : ends(view)), ...ownProblems(view, now)],
  };
}

/** Why there is no agent, none for now, or one that only reports and answers. */
function ends({ failure, isHeld, life }: ProcessView): readonly ProblemPart[] {
  if (!failure) return [];
  const { message, hint } = toldOf(failure.error);
  const rest = isHeld && life ? "; this board tells and answers meanwhile, and neither leads nor changes anything" : "";
  return [{ type: isHeld ? "AgentHeld" : "AgentEnded", severity: "critical", message: `${message}${rest}`, hint }];
}

/** How long the end of the former process is worth reporting. */
const recent: Millis = 3_600_000;

function ownProblems(view: ProcessView, now: Instant): ProblemPart[] {
  const { refused, stuck, isWatched, isTooLarge, previous, startedAt } = view;
  const found: ProblemPart[] = stuck.map(({ name, since }) => ({
    type: stuckCondition,
    subject: name,
    severity: "critical",
    message: `${name} has not moved for ${formatDuration(elapsed(since, now))}`,
    hint: `${isWatched ? "systemd starts the agent anew" : "start the agent anew"}; report it with the log: this is a bug of the agent`,
  }));
  const [first, ...more] = refused;
  if (first !== undefined) {
    found.push({
      type: "ConfigRefused",
      severity: "warning",
      message: `the new configuration is refused, and the former one stays: ${first}${more.length > 0 ? `, and ${more.length} more` : ""}`,
      hint: "correct it (siteward config check FILE), then: systemctl reload siteward",
    });
  }
  if (isTooLarge) {
    found.push({
      type: "MemoryAboveLimit",
      severity: "warning",
      message: "the agent takes more memory than memory.hard, and did so soon after its start",
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

/** Ends that nobody asked for. */
const endings: Readonly<Record<string, string>> = {
  memory: "the former process ended because of its memory",
  storage: "the former process ended for one that can write the state folder",
  failure: "the former process could not go on",
  watchdog: "the former process was ended by systemd's watchdog",
  unclean: "the former process ended without a word",
};

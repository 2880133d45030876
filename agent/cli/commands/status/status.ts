import { join } from "node:path";
import { elapsed, type Millis, sleep } from "../../../base/clock.ts";
import { exit } from "../../../base/exit-codes.ts";
import type { Args, Io } from "../../../base/io.ts";
import { cursor, jsonText } from "../../../base/text/terminal-text.ts";
import { formatDuration, parseDuration } from "../../../base/time/duration.ts";
import { runFolder } from "../../../process/load-config.ts";
import { endingText } from "../../../status/ending-text.ts";
import type { Status, StatusLevel } from "../../../status/schema.ts";
import type { Standstill } from "./service-state.ts";
import { findStatus, hasEnded, type StatusFinding, thisMachine } from "./status-reader.ts";
import { type StatusLayout, shortLine, statusText } from "./status-view.ts";

const pollEvery: Millis = 250;
const shortestPause: Millis = 100;

/**
 * `siteward status`: shows the agent's status file, so it works regardless of the agent's state. Queries systemd only
 * if the agent is not running.
 */
export async function run(io: Io, args: Args): Promise<number> {
  const timeout = spanOf(args.values.get("timeout") ?? "60");
  const every = spanOf(args.values.get("watch") ?? "2");
  if (timeout === undefined) return refused(io, "--timeout takes seconds, or a duration such as 2m");
  if (every === undefined || every < shortestPause)
    return refused(io, `--watch takes seconds, or a duration such as 2m, of at least ${formatDuration(shortestPause)}`);
  const file = args.values.get("file") ?? join(runFolder(io), "status.json");
  const find = (): StatusFinding => findStatus(file, thisMachine());
  if (args.values.has("wait")) return await waited(io, args, find, timeout);
  if (args.values.has("watch")) return await watched(io, args, find, every);
  return await printed(io, args, find());
}

function refused(io: Io, why: string): number {
  io.stderr.line(`siteward: status: ${why}`);
  return exit.usage;
}

export function exitCodeOf(found: StatusFinding): number {
  switch (found.kind) {
    case "absent":
    case "stale":
      return exit.notRunning;
    case "unreadable":
      return exit.unreadable;
    case "fresh":
      return levelCodes.get(found.status.health.level) ?? exit.unreadable;
    default:
      return found satisfies never;
  }
}

/** A Map and not an object: in a damaged file the level may be any string, even the name of an inherited property. */
const levelCodes: ReadonlyMap<StatusLevel, number> = new Map([
  ["ok", exit.ok],
  ["degraded", exit.failed],
  ["critical", exit.critical],
]);

async function printed(io: Io, args: Args, found: StatusFinding): Promise<number> {
  const { flags } = args;
  const code = exitCodeOf(found);
  if (flags.has("json")) io.stdout.write(asJson(found));
  else if (found.kind === "unreadable") io.stderr.line(`siteward: ${found.why}`);
  else if (found.kind === "absent") {
    const { why, next } = (await standstillOf(io, args)) ?? { why: undefined, next: "start it: siteward run" };
    const first = `NOT RUNNING  ${why === undefined ? found.why : `${why} (${found.why})`}`;
    io.stdout.line(first);
    if (!flags.has("short")) io.stdout.line(`  -> ${next}`);
  } else if (flags.has("short"))
    io.stdout.write(shortLine(found, io.stdout.isTTY ? layoutOf(io).width : Number.POSITIVE_INFINITY));
  else {
    const standstill = found.kind === "stale" ? ((await standstillOf(io, args)) ?? endOf(found.status)) : undefined;
    io.stdout.write(statusText(found, layoutOf(io), standstill));
  }
  return code;
}

/**
 * Why the agent is not running; undefined if the user named a status file, which may be that of another agent, such as
 * a simulated board's.
 */
async function standstillOf(io: Io, { values }: Args): Promise<Standstill | undefined> {
  if (values.has("file") || io.env.SITEWARD_RUN_FOLDER) return undefined;
  const { readServiceState, standstill } = await import("./service-state.ts");
  return standstill(await readServiceState(io));
}

/**
 * Why an agent that is not this board's service is not running, and the next step; undefined if its last problems
 * already say why it ended.
 */
function endOf(status: Status): Standstill | undefined {
  if (status.health.conditions.some(({ type }) => type === "AgentEnded" || type === "AgentHeld")) return undefined;
  return hasEnded(status, thisMachine())
    ? {
        why: endingText(status),
        next: "start it again, as it was started before (siteward run --config FILE); its log has more",
      }
    : { why: "its process hangs", next: "its log has more; end the process and start it again" };
}

/** The content of the status file, with the reader's findings as the member `reader`. */
function asJson(found: StatusFinding): string {
  const known = "status" in found;
  const reader = {
    state: found.kind,
    ageMs: known ? found.age : undefined,
    why: found.kind === "fresh" ? undefined : found.why,
  };
  return `${jsonText({ ...(known ? found.status : {}), reader }, 2)}\n`;
}

async function watched(io: Io, args: Args, find: () => StatusFinding, every: Millis): Promise<number> {
  for (;;) {
    if (io.stdout.isTTY) io.stdout.write(cursor.clearScreen);
    const code = await printed(io, args, find());
    await sleep(io.clock, every, io.signal);
    if (io.signal.aborted) return code;
    if (!io.stdout.isTTY && !args.flags.has("short") && !args.flags.has("json")) io.stdout.line("");
  }
}

async function waited(io: Io, args: Args, find: () => StatusFinding, timeout: Millis): Promise<number> {
  const began = io.clock.now();
  for (;;) {
    const found = find();
    if (found.kind === "fresh" && found.status.health.ready) return await printed(io, args, found);
    if (elapsed(began, io.clock.now()) >= timeout || io.signal.aborted) {
      const code = await printed(io, args, found);
      const end = io.signal.aborted ? "interrupted before the agent was ready" : "the agent was not ready in time";
      io.stderr.line(`siteward: ${end}`);
      return code === exit.ok ? exit.failed : code;
    }
    await sleep(io.clock, pollEvery, io.signal);
  }
}

const layoutOf = ({ stdout }: Io): StatusLayout => ({
  width: Math.max(40, Math.min(stdout.columns, 100)),
});

/** Parses a duration; a number without a unit means seconds. */
const spanOf = (text: string): Millis | undefined => parseDuration(/^\d+(\.\d+)?$/.test(text) ? `${text}s` : text);

import { largestVersion } from "../../config/remote-record.ts";
import { done, refused } from "./controls.ts";
import { absent, command, type Definition } from "./definition.ts";
import { idPattern } from "./envelope.ts";
import { list, record, text, whole, word, yesNo } from "./shape.ts";

const second = 1000;
const hour = 3600;
const part = text({ pattern: /^[a-z][a-z0-9.-]*$/, most: 64 });

/** Commands about the board itself: queries and local actions. */
export const boardCommands: readonly Definition[] = [
  command({
    name: "ping",
    sentence: "Who and how old this process is.",
    scopes: ["board", "fleet"],
    class: "read",
    args: record({}, { echo: text({ most: 256, least: 0 }) }),
    perform({ site, board }, { echo }) {
      const { term, isLeader } = site.standing();
      const { version, bootId } = board;
      return done({ echo, version, bootId, uptimeMs: Math.round(board.uptime()), isLeader, term });
    },
  }),
  command({
    name: "status.get",
    sentence: "The status document, or a summary of it.",
    scopes: ["board", "site", "fleet"],
    class: "read",
    args: record({}, { detail: word("summary", "full") }),
    perform({ board }, { detail = "summary" }) {
      const status = board.status(detail);
      return status ? done(status) : refused(503, "not-ready", "there is no status yet");
    },
  }),
  command({
    name: "capabilities.get",
    sentence: "What this agent is and can do; the birth message is published anew.",
    scopes: ["board", "fleet"],
    class: "read",
    args: record({}, {}),
    perform: ({ board }) => done(board.announce()),
  }),
  command({
    name: "config.get",
    sentence: "The settings in force, without secrets, each with where it was written.",
    scopes: ["board"],
    class: "read",
    args: record({}, { source: word("default", "profile", "file", "remote", "environment") }),
    perform: ({ board }, { source }) => done(board.config(source)),
  }),
  command({
    name: "log.level",
    sentence: "Another level of the log for ttl seconds; with component only of one controller or resource.",
    scopes: ["board", "fleet"],
    class: "idempotent",
    isSigned: true,
    args: record({ level: word("error", "warn", "info", "debug"), ttl: whole(10, 86_400) }, { component: part }),
    problem: ({ level, ttl }) =>
      level === "debug" && ttl > hour
        ? { field: "/args/ttl", message: `debug is for up to ${hour} seconds: it wears the card out` }
        : undefined,
    perform: ({ desk }, { level, component, ttl }, { dryRun }) =>
      dryRun ? done({ level, component, ttl }) : desk.setLogLevel({ level, component, ttl: ttl * second }),
  }),
  command({
    name: "diagnostics.collect",
    sentence: "Packs what helps to find a fault into an archive in the state folder.",
    scopes: ["board"],
    class: "once",
    isSigned: true,
    group: "diagnostics",
    isCancellable: true,
    args: record(
      {},
      {
        sections: list(part, 32),
        logsSince: whole(1, 7 * 86_400),
        upload: record({ url: text({ pattern: /^https:\/\/[^\s]+$/, most: 2048 }) }, {}),
      },
    ),
    timeout: () => 600 * second,
    async perform({ board, desk }, { sections, logsSince, upload }, { progress, signal, dryRun }) {
      const url = upload && URL.parse(upload.url);
      if (url === null) return refused(422, "bad-args", "the URL of the upload is none");
      if (url && !desk.mayUploadTo(url.host)) {
        return refused(403, "upload-host", `${url.host} is not among diagnostics.uploadHosts of this board's policy`);
      }
      if (!board.collectDiagnostics) return absent("the collector of diagnostics");
      if (dryRun) return done({ sections, upload: url?.host });
      const since = logsSince === undefined ? undefined : logsSince * second;
      return await board.collectDiagnostics({ sections, logsSince: since, upload: url }, progress, signal);
    },
  }),
  command({
    name: "journal.compact",
    sentence: "Folds the logs of the databases in, and with vacuum gives free pages back to the disk.",
    scopes: ["board"],
    class: "idempotent",
    isSigned: true,
    group: "journal",
    args: record({}, { vacuum: yesNo }),
    perform: ({ board }, { vacuum = false }, { dryRun }) => board.compact(vacuum, dryRun),
  }),
  command({
    name: "config.apply",
    sentence: "Looks at the desired configuration now, instead of in its turn.",
    scopes: ["board"],
    class: "idempotent",
    isSigned: true,
    group: "config",
    args: record({ version: whole(1, largestVersion) }, { canary: whole(10, 3600) }),
    timeout: ({ canary = 120 }) => (canary + 60) * second,
    perform({ board }, { version, canary }, { dryRun }) {
      const length = canary === undefined ? undefined : canary * second;
      return board.applyConfig?.(version, length, dryRun) ?? absent("a desired configuration");
    },
  }),
  command({
    name: "config.rollback",
    sentence:
      "Back to the last good configuration, or to one by number (0: none of the fleet's), until a newer one is desired.",
    scopes: ["board"],
    class: "once",
    isSigned: true,
    group: "config",
    args: record({}, { toVersion: whole(0, largestVersion) }),
    perform: ({ board }, { toVersion }, { dryRun }) =>
      board.rollbackConfig?.(toVersion, dryRun) ?? absent("a desired configuration"),
  }),
  command({
    name: "agent.restart",
    sentence: "Ends the agent in an orderly way; the process that follows answers.",
    scopes: ["board"],
    class: "once",
    isSigned: true,
    group: "restart",
    endsWithStart: true,
    args: record({}, { mode: word("graceful") }),
    perform({ board }, _args, { author, dryRun }) {
      if (dryRun) return done({ mode: "graceful" });
      board.restart(`command of ${author.by}`);
      return "the next process";
    },
  }),
  command({
    name: "credentials.reload",
    sentence: "Reads certificates, tokens, trusted keys and the command policy again.",
    scopes: ["board"],
    class: "idempotent",
    isSigned: true,
    group: "credentials",
    args: record({}, {}),
    timeout: () => 90 * second,
    perform: ({ board }, _args, { dryRun, signal }) => board.reloadCredentials(dryRun, signal),
  }),
  command({
    name: "cmd.cancel",
    sentence: "Calls off a running drain or collection of diagnostics.",
    scopes: ["board", "site"],
    class: "idempotent",
    isSigned: true,
    args: record({ id: text({ pattern: idPattern, most: 64 }) }, {}),
    perform: ({ desk }, { id }, { dryRun }) => desk.cancel(id, dryRun),
  }),
];

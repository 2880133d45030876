import { list, optional, record, text, whole, word, yesNo } from "../../../base/schema.ts";
import { maxVersion } from "../../../config/remote-record.ts";
import { done, refused } from "../controls.ts";
import { idPattern } from "../envelope.ts";
import { absent, command, type Definition } from "./definition.ts";

const second = 1000;
const hour = 3600;
/** A Node or a pod, as on the command line. */
const decisionSubject = /^(?:node\/[^/\s]+|pod\/[^/\s]+\/[^/\s]+)$/;
const part = text({ pattern: /^[a-z][a-z0-9.-]*$/, most: 64 });

/** Commands about the board itself: queries and local actions. */
export const boardCommands: readonly Definition[] = [
  command({
    name: "ping",
    sentence: "Returns the identity and uptime of this process.",
    scopes: ["board", "fleet"],
    class: "read",
    args: record({ echo: optional(text({ most: 256, least: 0 })) }),
    perform({ site, board }, { echo }) {
      const { term, isLeader } = site.standing();
      const { version, bootId } = board;
      return done({ echo, version, bootId, uptimeMs: Math.round(board.uptime()), isLeader, term });
    },
  }),
  command({
    name: "status.get",
    sentence: "Returns the status document, or a summary of it.",
    scopes: ["board", "site", "fleet"],
    class: "read",
    args: record({ detail: optional(word("summary", "full")) }),
    perform({ board }, { detail = "summary" }) {
      const status = board.status(detail);
      return status ? done(status) : refused(503, "not-ready", "there is no status yet");
    },
  }),
  command({
    name: "decisions.get",
    sentence:
      "Returns this board's newest records of harmful acts: about a Node and its pods (node/NAME), about a pod (pod/NAMESPACE/NAME), or all.",
    scopes: ["board", "site"],
    class: "read",
    args: record({
      about: optional(text({ pattern: decisionSubject, most: 512 })),
      most: optional(whole({ min: 1, max: 50 })),
      skip: optional(whole({ min: 0, max: 10_000 })),
      compared: optional(yesNo),
    }),
    problem: ({ about, skip }) =>
      about !== undefined && skip !== undefined
        ? { field: "/args/skip", message: "must be omitted if about is given" }
        : undefined,
    perform: ({ board }, { about, most = 20, skip = 0, compared = false }) =>
      done(board.decisions(about, most, { skip, compared })),
  }),
  command({
    name: "capabilities.get",
    sentence: "Describes this agent and its capabilities, and publishes the birth message again.",
    scopes: ["board", "fleet"],
    class: "read",
    args: record({}),
    perform: ({ board }) => done(board.announce()),
  }),
  command({
    name: "config.get",
    sentence: "Returns the settings in force, without secrets, each with its origin.",
    scopes: ["board"],
    class: "read",
    args: record({ source: optional(word("default", "profile", "file", "remote", "environment")) }),
    perform: ({ board }, { source }) => done(board.config(source)),
  }),
  command({
    name: "log.level",
    sentence: "Sets the log level for ttl seconds; with component, only of that controller or resource.",
    scopes: ["board", "fleet"],
    class: "idempotent",
    isSigned: true,
    args: record({
      level: word("error", "warn", "info", "debug"),
      ttl: whole({ min: 10, max: 86_400 }),
      component: optional(part),
    }),
    problem: ({ level, ttl }) =>
      level === "debug" && ttl > hour
        ? { field: "/args/ttl", message: `debug is limited to ${hour} seconds, because it wears out the flash` }
        : undefined,
    perform: ({ desk }, { level, component, ttl }, { dryRun }) =>
      dryRun ? done({ level, component, ttl }) : desk.setLogLevel({ level, component, ttl: ttl * second }),
  }),
  command({
    name: "diagnostics.collect",
    sentence: "Collects diagnostics into an archive in the state folder.",
    scopes: ["board"],
    class: "once",
    isSigned: true,
    group: "diagnostics",
    isCancellable: true,
    args: record({
      sections: optional(list(part, 32)),
      logsSince: optional(whole({ min: 1, max: 7 * 86_400 })),
      upload: optional(record({ url: text({ pattern: /^https:\/\/[^\s]+$/, most: 2048 }) })),
    }),
    timeout: () => 600 * second,
    async perform({ board, desk }, { sections, logsSince, upload }, { progress, signal, dryRun }) {
      const url = upload && URL.parse(upload.url);
      if (url === null) return refused(422, "bad-args", "the upload URL is invalid");
      if (url && !desk.mayUploadTo(url.host)) {
        return refused(403, "upload-host", `diagnostics.uploadHosts in this board's policy does not list ${url.host}`);
      }
      if (!board.collectDiagnostics) return absent("collector of diagnostics");
      if (dryRun) return done({ sections, upload: url?.host });
      const since = logsSince === undefined ? undefined : logsSince * second;
      return await board.collectDiagnostics({ sections, logsSince: since, upload: url }, progress, signal);
    },
  }),
  command({
    name: "journal.compact",
    sentence: "Checkpoints the databases' write-ahead logs; with vacuum, also returns free pages to the disk.",
    scopes: ["board"],
    class: "idempotent",
    isSigned: true,
    group: "journal",
    args: record({ vacuum: optional(yesNo) }),
    perform: ({ board }, { vacuum = false }, { dryRun }) => board.compact(vacuum, dryRun),
  }),
  command({
    name: "config.apply",
    sentence: "Applies the fleet's desired configuration now, without waiting for the next check.",
    scopes: ["board"],
    class: "idempotent",
    isSigned: true,
    group: "config",
    args: record({ version: whole({ min: 1, max: maxVersion }), canary: optional(whole({ min: 10, max: 3600 })) }),
    timeout: ({ canary = 120 }) => (canary + 60) * second,
    perform({ board }, { version, canary }, { dryRun }) {
      const length = canary === undefined ? undefined : canary * second;
      return board.applyConfig?.(version, length, dryRun) ?? absent("connection to a fleet that sends settings");
    },
  }),
  command({
    name: "config.rollback",
    sentence:
      "Returns to the last good configuration, or to a version (0: the board's own files), until the fleet sends a newer one.",
    scopes: ["board"],
    class: "once",
    isSigned: true,
    group: "config",
    args: record({ toVersion: optional(whole({ min: 0, max: maxVersion })) }),
    perform: ({ board }, { toVersion }, { dryRun }) =>
      board.rollbackConfig?.(toVersion, dryRun) ?? absent("connection to a fleet that sends settings"),
  }),
  command({
    name: "agent.restart",
    sentence: "Restarts the agent gracefully; the new process sends the answer.",
    scopes: ["board"],
    class: "once",
    isSigned: true,
    group: "restart",
    endsWithStart: true,
    args: record({ mode: optional(word("graceful")) }),
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
    args: record({}),
    timeout: () => 90 * second,
    perform: ({ board }, _args, { dryRun, signal }) => board.reloadCredentials(dryRun, signal),
  }),
  command({
    name: "cmd.cancel",
    sentence: "Cancels a running drain or collection of diagnostics.",
    scopes: ["board", "site"],
    class: "idempotent",
    isSigned: true,
    args: record({ id: text({ pattern: idPattern, most: 64 }) }),
    perform: ({ desk }, { id }, { dryRun }) => desk.cancel(id, dryRun),
  }),
];

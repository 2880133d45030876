import { isRecord, jsonPointerToken, jsonPointerTokens } from "../base/json.ts";
import type { Fault } from "./remote-record.ts";
import type { Entries, Section } from "./schema.ts";
import { settings } from "./settings.ts";

/**
 * Settings that the fleet must not change: the board's identity, its files, its API server, and the fleet's own rights.
 * After a mistake in one of them, the board might not be reachable for a correction.
 */
const boardOnly: readonly string[] = [
  "site.name",
  "board.name",
  "board.node",
  "api.*",
  "state.*",
  "run.*",
  "remote.*",
  "mqtt.fleet",
  "mqtt.certificate",
  "mqtt.key",
  "mqtt.ca",
  "commands.*",
  "local.*",
  "diagnostics.*",
];

/**
 * Settings that decide for which boards and namespaces a leader acts, under which Lease, and when it must not act. A
 * board does not lead if one of these, set by the fleet, is not in force.
 */
const leaderScope: readonly string[] = [
  "site.*",
  "leader.namespace",
  "leader.otherNamespaces",
  "controllers.*",
  "judgement.*",
  "quietHours.*",
];

/** The lowest value that the fleet may set, and why. A board's own files can set a lower one. */
interface Least {
  readonly value: number;
  readonly message: string;
}

/**
 * Two renewals of a kubelet's Lease, which are 10 s apart by default. With a lower value, living boards are repeatedly
 * judged lost, which a trial does not detect. A site whose kubelets renew faster can set a lower value in the board's
 * own files.
 */
const minGracePeriod: Least = {
  value: 20_000,
  message: "must be at least 20s in fleet settings, because a kubelet renews its Lease every 10s",
};

/**
 * A leader of a small site uses about 65 MiB; below this limit it would restart again and again, even after the trial.
 */
const minMemory: Least = {
  value: 96 * 1024 * 1024,
  message: "must be at least 96MiB in fleet settings, because a leader needs that much",
};

const minValues: ReadonlyMap<string, Least> = new Map([
  ["nodeLifecycle.gracePeriod", minGracePeriod],
  ["nodeLifecycle.startupGracePeriod", minGracePeriod],
  ["memory.hard", minMemory],
]);

/** The faults in the fleet's settings, up to 20. `locked`: the value of remote.locked. */
export function judgeRemote(config: unknown, locked: string | undefined): readonly Fault[] {
  const faults: Fault[] = [];
  const isLocked = matcherOf(locked?.split(",").map((key) => key.trim()) ?? []);
  const isBoardOnly = matcherOf(boardOnly);
  const visit = (section: Section<Entries>, written: unknown, path: readonly string[]): void => {
    const pointer = path.map(jsonPointerToken).join("");
    if (!isRecord(written)) {
      faults.push({ path: pointer, code: "schema", message: "must be a section" });
      return;
    }
    for (const [name, value] of Object.entries(written)) {
      const at = [...path, name];
      const key = at.join(".");
      const here = pointer + jsonPointerToken(name);
      const entry = Object.hasOwn(section.entries, name) ? section.entries[name] : undefined;
      if (!entry) faults.push({ path: here, code: "unknown-key" });
      else if (isBoardOnly(key)) faults.push({ path: here, code: "unsupported" });
      else if (isLocked(key)) faults.push({ path: here, code: "locked" });
      else if (entry.kind === "section") visit(entry, value, at);
      else {
        const parsed = entry.parse(value);
        if (parsed === undefined) faults.push({ path: here, code: "schema", message: `takes ${entry.accepts}` });
        else {
          const least = minValues.get(key);
          if (least && Number(parsed) < least.value)
            faults.push({ path: here, code: "schema", message: least.message });
        }
      }
    }
  };
  visit(settings, config, []);
  return faults.slice(0, maxFaults);
}

/** Whether a board may lead without the faulty setting; if its path is "", without any fleet settings. */
export const mayLeadWithout = ({ path }: Fault): boolean =>
  path !== "" && !matcherOf(leaderScope)(jsonPointerTokens(path).join("."));

const maxFaults = 20;

/** A pattern is a setting's path, "leader.*" for a section and everything in it, or "*" for everything. */
function matcherOf(patterns: readonly string[]): (key: string) => boolean {
  return (key) =>
    patterns.some((pattern) => {
      if (pattern === "*") return true;
      const inside = pattern.endsWith(".*") ? pattern.slice(0, -2) : undefined;
      return inside === undefined ? key === pattern : key === inside || key.startsWith(`${inside}.`);
    });
}

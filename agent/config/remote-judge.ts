import { isRecord, pointerStep } from "../base/json.ts";
import type { Fault } from "./remote-record.ts";
import type { Entries, Section } from "./schema.ts";
import { settings } from "./settings.ts";

/**
 * Settings that the fleet may not change: the board's identity, its files, its API server, and the fleet's own rights.
 * A mistake in them would leave the board unreachable for a correction.
 */
const ownMatters: readonly string[] = [
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

/** All faults in the fleet's settings, each at its place. `locked`: "nodeLifecycle.*, leader.duration". */
export function judgeRemote(config: unknown, locked: string | undefined): readonly Fault[] {
  const faults: Fault[] = [];
  const isLocked = matcherOf(locked?.split(",").map((key) => key.trim()) ?? []);
  const isOwn = matcherOf(ownMatters);
  const visit = (section: Section<Entries>, written: unknown, path: readonly string[]): void => {
    const pointer = path.map(pointerStep).join("");
    if (!isRecord(written)) {
      faults.push({ path: pointer, code: "schema", message: "is a section" });
      return;
    }
    for (const [name, value] of Object.entries(written)) {
      const at = [...path, name];
      const key = at.join(".");
      const here = pointer + pointerStep(name);
      const entry = Object.hasOwn(section.entries, name) ? section.entries[name] : undefined;
      if (!entry) faults.push({ path: here, code: "unknown-key" });
      else if (isOwn(key)) faults.push({ path: here, code: "unsupported" });
      else if (isLocked(key)) faults.push({ path: here, code: "locked" });
      else if (entry.kind === "section") visit(entry, value, at);
      else if (entry.parse(value) === undefined)
        faults.push({ path: here, code: "schema", message: `takes ${entry.accepts}` });
    }
  };
  visit(settings, config, []);
  return faults.slice(0, mostFaults);
}

const mostFaults = 20;

/** "leader.*" matches the section and everything in it, "*" everything. */
function matcherOf(patterns: readonly string[]): (key: string) => boolean {
  return (key) =>
    patterns.some((pattern) => {
      if (pattern === "*") return true;
      const inside = pattern.endsWith(".*") ? pattern.slice(0, -2) : undefined;
      return inside === undefined ? key === pattern : key === inside || key.startsWith(`${inside}.`);
    });
}

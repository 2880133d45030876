import type { Taint } from "../../../agent/api/core.ts";
import { taintKeys } from "../../../agent/api/taints.ts";

const prefix = "node.kubernetes.io/";
const known: readonly string[] = Object.values(taintKeys);

/** "unreachable:NoExecute", "maintenance=disk:NoExecute": the known keys are shown without their prefix. */
export function showTaint({ key, value, effect }: Taint): string {
  const short = known.includes(key) ? key.slice(prefix.length) : key;
  return `${short}${value ? `=${value}` : ""}:${effect}`;
}

export const taintPattern = /^[^=:\s]+(=[^:\s]*)?:(NoSchedule|PreferNoSchedule|NoExecute)$/;

/** The reverse; the caller sets `timeAdded`. */
export function taintFrom(text: string): Taint {
  const [, name = "", value, effect = ""] = /^([^=:]+)(?:=([^:]*))?:(\w+)$/.exec(text) ?? [];
  const key = known.includes(prefix + name) ? prefix + name : name;
  return { key, effect, ...(value !== undefined && { value }) };
}

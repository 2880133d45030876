import { isRecord, type JsonRecord, jsonPointerToken, jsonPointerTokens } from "../base/json.ts";
import type { Loaded } from "./load.ts";
import { judgeRemote, mayLeadWithout } from "./remote-judge.ts";
import type { Fault, Kept } from "./remote-record.ts";
import { ConflictError } from "./whole.ts";

/** Fleet settings that are stored but not in force. */
export interface LeftOut {
  /** The version of the stored settings; undefined if they cannot be read. */
  readonly version: number | undefined;
  readonly faults: readonly Fault[];
}

interface Fitted {
  readonly loaded: Loaded;
  /** The fleet settings that are not in force; undefined if all of them are. */
  readonly leftOut: LeftOut | undefined;
}

/**
 * Merges the fleet's settings with this board's own. Settings that do not fit are left out and the others are kept; if
 * all were left out, a board might act on another site's boards, or with controllers that the fleet turned off.
 * `locked`: the value of remote.locked. Throws a ConfigError if this board's own settings are invalid.
 */
export function fitRemote(
  { version, config }: Kept,
  { locked, load }: { readonly locked: string | undefined; readonly load: (remote: Sent) => Loaded },
): Fitted {
  const leftOut: Fault[] = [];
  for (let rest = config; ; ) {
    const found = judgeRemote(rest, locked);
    const next = found.length > 0 ? found : merged({ version, config: rest }, load);
    if (!isFaults(next))
      return { loaded: next, leftOut: leftOut.length > 0 ? { version, faults: leftOut } : undefined };
    leftOut.push(...next);
    for (const { path } of next) rest = without(rest, jsonPointerTokens(path));
  }
}

/** Why a board that lacks these settings must not lead; undefined if it may. */
export function whyNotToLeadWithout(leftOut: LeftOut | undefined): string | undefined {
  const isSafe = leftOut?.faults.every(mayLeadWithout) ?? true;
  return isSafe ? undefined : "fleet settings that decide where and when a leader acts are not in force";
}

type Sent = Pick<Kept, "version" | "config">;

/** The merged configuration, or the faults of the fleet settings that conflict with other settings. */
function merged(remote: Sent, load: (remote: Sent) => Loaded): Loaded | readonly Fault[] {
  try {
    return load(remote);
  } catch (error) {
    if (!(error instanceof ConflictError)) throw error;
    const faults = error.conflicts.flatMap(({ path, against, message }) =>
      [path, ...against]
        .filter((at) => isIn(remote.config, at.split(".")))
        .map((at): Fault => {
          const why = at === path ? message : `does not fit: ${path} ${message}`;
          return { path: at.split(".").map(jsonPointerToken).join(""), code: "schema", message: why };
        }),
    );
    // Without a conflict, the fault is not in the fleet settings.
    if (faults.length === 0) throw error;
    return faults;
  }
}

const isFaults = (result: Loaded | readonly Fault[]): result is readonly Fault[] => Array.isArray(result);

function isIn(tree: unknown, [name, ...inside]: readonly string[]): boolean {
  if (name === undefined) return true;
  return isRecord(tree) && Object.hasOwn(tree, name) && isIn(tree[name], inside);
}

/** The tree without the entry at this path. An empty path means the whole tree, and leaves nothing. */
function without(tree: JsonRecord, [name, ...inside]: readonly string[]): JsonRecord {
  if (name === undefined) return {};
  const { [name]: entry, ...others } = tree;
  return inside.length > 0 && isRecord(entry) ? { ...others, [name]: without(entry, inside) } : others;
}

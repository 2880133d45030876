import { join } from "node:path";
import { mirroredText } from "../../../../storage/database/inspection.ts";
import { isOfSqlite } from "../../../../storage/errors.ts";
import type { Node, Pod } from "../../../api/core.ts";
import type { KubeObject } from "../../../api/meta.ts";
import { parseObject } from "../../../api/parse.ts";
import { nodes, pods, type Resource, resourceName } from "../../../api/resources.ts";
import { taintsOf } from "../../../api/taints.ts";
import { recordIn } from "../../../base/json.ts";
import { readyOf } from "../../../controllers/node-lifecycle/health.ts";
import { confirmerOf } from "../../../controllers/node-lifecycle/out-of-service/mark.ts";
import type { Status } from "../../../status/schema.ts";

/** An object as the running agent knows it, from its cache. */
export type Cached<T> =
  | { readonly kind: "known"; readonly object: T }
  | { readonly kind: "absent" }
  /** The agent does not run, or does not follow such objects now. */
  | { readonly kind: "unknown" };

const unknown = { kind: "unknown" } as const;

/** Reads the objects that the agent with this status holds in its cache, as long as it receives their changes. */
export class CachedState {
  readonly #file: string;
  readonly #status: Status | undefined;

  /** `status`: that of the running agent; undefined if none runs. */
  constructor(stateFolder: string, status: Status | undefined) {
    this.#file = join(stateFolder, "cache.db");
    this.#status = status;
  }

  node(name: string): Cached<Node> {
    return this.#read(nodes, name);
  }

  pod(key: string): Cached<Pod> {
    return this.#read(pods, key);
  }

  #read<T extends KubeObject>(resource: Resource<T>, key: string): Cached<T> {
    const name = resourceName(resource);
    if (!this.#status?.watches?.some((watch) => watch.resource === name && watch.state === "live")) return unknown;
    try {
      const text = mirroredText(this.#file, name, key);
      if (text === undefined) return unknown;
      if (text === "absent") return { kind: "absent" };
      const parsed = parseObject<T>(recordIn(text), resource);
      return parsed.ok ? { kind: "known", object: parsed.object } : unknown;
    } catch (error) {
      // This user may lack the permission that the agent has, or the agent may be building a new cache.
      if (isOfSqlite(error) || (error instanceof Error && "code" in error)) return unknown;
      throw error;
    }
  }
}

/** The state of a Node, such as "Ready, no taints". */
export function nodeText(node: Node): string {
  const ready = readyOf(node)?.status;
  const isCordoned = node.spec?.unschedulable === true;
  const taints = taintsOf(node).filter(({ key }) => !(isCordoned && key === "node.kubernetes.io/unschedulable"));
  const confirmer = confirmerOf(node);
  const { by = "an operator", reason } = confirmer ?? {};
  return [
    ready === "True" ? "Ready" : `Ready=${ready ?? "unset"}`,
    ...(isCordoned ? ["cordoned"] : []),
    taints.length === 0 ? "no taints" : `tainted ${taints.map(({ key, effect }) => `${key}:${effect}`).join(", ")}`,
    ...(confirmer ? [`confirmed dead by ${by}${reason === undefined ? "" : ` (${reason})`}`] : []),
  ].join(", ");
}

/** The state of a pod, such as "Running on pi-4". */
export function podText({ metadata, spec, status }: Pod): string {
  const place = spec?.nodeName === undefined ? "not bound to a board" : `on ${spec.nodeName}`;
  const phase = metadata.deletionTimestamp === undefined ? (status?.phase ?? "of unknown phase") : "being deleted";
  return `${phase} ${place}`;
}

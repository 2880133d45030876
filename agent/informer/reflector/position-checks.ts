import type { KubeObject } from "../../api/meta.ts";
import { compareVersions } from "../../api/resource-version.ts";
import type { Resource } from "../../api/resources.ts";
import type { ReflectorClient } from "../informer-client.ts";
import type { Selection } from "../scope.ts";

interface Collection<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly selection: Selection;
  readonly client: ReflectorClient;
}

const one = { limit: 1, metadataOnly: true } as const;

/**
 * To what extent the stored position can be used. Failures only make it worse, until a list or the server restores it.
 */
export type PositionState =
  /** The watch resumes there. */
  | "usable"
  /** The last watch failed as at a meaningless position, so the server is first asked whether it knows it. */
  | "doubted"
  /** The server no longer has the events after the position. A list of a state no older replaces it. */
  | "expired"
  /** The server cannot even list at the position, or has another history. A list of the newest state replaces it. */
  | "useless";

const severity = { usable: 0, doubted: 1, expired: 2, useless: 3 } as const satisfies Record<PositionState, number>;

export const isWorse = (a: PositionState, b: PositionState): boolean => severity[a] > severity[b];

/** Checks whether the server knows the position, by a list of one object. Throws the server's error if it does not. */
export async function checkPosition<T extends KubeObject>(
  { resource, selection, client }: Collection<T>,
  position: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  const at = { resourceVersion: position, resourceVersionMatch: "NotOlderThan" } as const;
  await client.list(resource, { ...selection, ...at, ...one }, () => {}, signal);
}

/**
 * Whether the server's newest state is not older than the position. A server that was restored to an older state sends
 * nothing until it has caught up.
 *
 * An API server sends no bookmark with the version at which a watch began. It learns the current version of an idle
 * resource only from etcd's progress reports, by default every ten minutes, or from a list of the newest state. After
 * such a list, its bookmarks arrive (D150).
 */
export async function hasReached<T extends KubeObject>(
  { resource, selection, client }: Collection<T>,
  position: string | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  const newest = await client.list(resource, { ...selection, ...one }, () => {}, signal);
  signal.throwIfAborted();
  return position === undefined || compareVersions(newest.resourceVersion, position) >= 0;
}

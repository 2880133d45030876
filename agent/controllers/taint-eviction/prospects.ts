import { type KubeObject, namespaceIn } from "../../api/meta.ts";
import { controllerOf } from "../../api/owners.ts";
import { onSilenceAnnotation } from "../../api/pods.ts";
import { namespaces } from "../../api/resources.ts";
import { elapsed, type Instant, type Millis } from "../../base/clock.ts";
import type { MoveFacts, OnSilence } from "../../decisions/grounds.ts";
import type { SiteView } from "../../loop/controller.ts";
import { OtherBoards } from "./other-boards.ts";
import { unlessForbidden } from "./unless-forbidden.ts";

/** The facts about a pod itself that decide on its eviction from a silent board. */
export type OwnWord = Pick<MoveFacts, "owner" | "wish">;

export const ownWordOf = (pod: KubeObject): OwnWord => ({ owner: ownerOf(pod), ...wishOf(pod) });

/**
 * Only a StatefulSet is known to start no second copy while the first exists. Owners that siteward does not know are
 * assumed to start one.
 */
function ownerOf(pod: KubeObject): MoveFacts["owner"] {
  const owner = controllerOf(pod);
  if (owner === undefined) return "none";
  const { apiVersion, kind } = owner;
  return apiVersion.startsWith("apps/") && (kind === "StatefulSet" || kind === "DaemonSet") ? kind : "other";
}

/**
 * The wish in the annotation of a pod or namespace. An unknown value counts as a wish too: it was written for a reason,
 * perhaps for a later version, and a pod that stays can still be evicted.
 */
function wishOf({ metadata }: KubeObject): { readonly wish?: OnSilence } {
  const value = metadata.annotations?.[onSilenceAnnotation];
  if (value === undefined) return {};
  return { wish: value === "hold" || value === "replace-when-lost" ? value : "unknown" };
}

/** For how long the pods of a namespace share a read of it. */
const freshness: Millis = 120_000;

/** Finds out what an eviction would gain. Reads namespaces and volumes from the API, because no cache has them. */
export class Prospects {
  readonly #boards: OtherBoards;
  readonly #namespaces = new Map<string, { readonly at: Instant; readonly wish: OnSilence | undefined }>();

  /** `seesAll`: whether every Node of the cluster is in the cache. */
  constructor(seesAll: () => boolean) {
    this.#boards = new OtherBoards(seesAll);
  }

  /**
   * The facts about a pod's eviction from its board. Those that do not matter are left out. While the safety valve is
   * shut, no other board is looked for: a tenant's pods may be many, and wait for hours.
   */
  async of(
    key: string,
    {
      board,
      word: { owner, wish },
      isShut,
    }: { readonly board: string; readonly word: OwnWord; readonly isShut: boolean },
    site: SiteView,
  ): Promise<MoveFacts> {
    if (wish) return { owner, wish, of: "pod" };
    const common = await this.#wishOfNamespace(namespaceIn(key), site);
    if (common) return { owner, wish: common, of: "namespace" };
    const obstacle = owner === "other" && !isShut ? await this.#boards.obstacleFor(key, board, site) : undefined;
    return { owner, ...(obstacle && { obstacle }) };
  }

  async #wishOfNamespace(name: string, site: SiteView): Promise<OnSilence | undefined> {
    for (const [one, { at }] of this.#namespaces) {
      if (elapsed(at, site.now) >= freshness) this.#namespaces.delete(one);
    }
    const known = this.#namespaces.get(name);
    if (known) return known.wish;
    const namespace = await unlessForbidden(site.fetch(namespaces, name));
    const { wish } = namespace === undefined ? {} : wishOf(namespace);
    this.#namespaces.set(name, { at: site.now, wish });
    return wish;
  }
}

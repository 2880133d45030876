import { conditionOf } from "../../api/conditions.ts";
import type { Node, PersistentVolume, Pod } from "../../api/core.ts";
import { isSelected, namedBoards, type PlacementRules } from "../../api/node-affinity.ts";
import { claimsOf } from "../../api/pods.ts";
import { nodes, persistentVolumeClaims, persistentVolumes, pods } from "../../api/resources.ts";
import { elapsed, type Instant, type Millis } from "../../base/clock.ts";
import type { Steps } from "../../base/steps.ts";
import type { Obstacle } from "../../decisions/grounds.ts";
import type { SiteView } from "../../loop/controller.ts";
import { allocatable, unschedulableReasons } from "../daemon-binding/fit.ts";
import { needsOf } from "../daemon-binding/pod-needs.ts";
import { unlessForbidden } from "./unless-forbidden.ts";

/** Boards on which new pods may start. They are tried first, so that most searches end after one board. */
interface OpenBoards {
  readonly at: Instant;
  readonly names: readonly string[];
  /** Whether there are no others. */
  readonly areAll: boolean;
}

/** Maximum number of names in `OpenBoards`. */
const maxNames = 64;
/** For how long the names are reused: listing all boards for every pod would cost too much. */
const freshness: Millis = 5000;
/**
 * In characters, as JSON. A pod whose placement rules are longer counts as one that any board can take: a search
 * applies them to each board, and a tenant's pod may have thousands of rules.
 */
const maxRulesLength = 16_384;
/** Maximum number of claims whose volumes are read for a pod; the others count as usable everywhere. */
const maxClaims = 8;
/** Maximum number of pods whose volumes are remembered. */
const maxKnown = 512;
/**
 * How long the volumes of a pod are remembered. While a pod uses a claim, the claim's volume does not change, nor do
 * the boards that can use it; but a claim without a volume may get one. A pod whose volumes keep it from no board
 * leaves soon.
 */
const remembered = { binding: 3_600_000, others: 120_000 } as const;

/** The known facts about a pod's volumes. */
interface Volumes {
  readonly namespace: string;
  readonly at: Instant;
  /** Which boards can use them. */
  readonly rules: readonly PlacementRules[];
  /** They kept the pod from all other boards, so no more of them were read. */
  readonly areBinding: boolean;
}

const isValid = ({ at, areBinding }: Volumes, now: Instant): boolean =>
  elapsed(at, now) < remembered[areBinding ? "binding" : "others"];

/** Finds out whether another board can take a pod. Capacity that other pods use does not count: it may become free. */
export class OtherBoards {
  readonly #seesAll: () => boolean;
  #open: OpenBoards | undefined;
  /** By the pod's uid. */
  readonly #volumes = new Map<string, Volumes>();

  /** `seesAll`: whether every Node of the cluster is in the cache. */
  constructor(seesAll: () => boolean) {
    this.#seesAll = seesAll;
  }

  /** Why no board but this one can take the pod; undefined if one can, or if a board that is not in the cache may. */
  async obstacleFor(key: string, board: string, site: SiteView): Promise<Obstacle | undefined> {
    return (await this.#search(key, board, [], site)) ?? (await this.#volumeObstacle(key, board, site));
  }

  /** Reads the volumes one after the other, only until they leave no other board. */
  async #volumeObstacle(key: string, board: string, site: SiteView): Promise<Obstacle | undefined> {
    const { uid, namespace, claims } = claimedBy(site.lister(pods).get(key));
    if (claims.length === 0) return undefined;
    const known = this.#volumes.get(uid);
    if (known && isValid(known, site.now)) {
      const obstacle = await this.#search(key, board, known.rules, site);
      if (obstacle !== undefined || !known.areBinding) return obstacle;
    }
    const rules: PlacementRules[] = [];
    let obstacle: Obstacle | undefined;
    for (const claim of claims) {
      const required = (await volumeOf(`${namespace}/${claim}`, site))?.spec?.nodeAffinity?.required;
      if (required === undefined) continue;
      rules.push({ affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } } });
      obstacle = await this.#search(key, board, rules, site);
      if (obstacle !== undefined) break;
    }
    this.#remember(uid, { namespace, at: site.now, rules, areBinding: obstacle !== undefined });
    return obstacle;
  }

  /**
   * If there is no room, a pod of the namespace with the most pods is dropped, so that this namespace does not cause
   * the volumes of other namespaces' pods to be read again.
   */
  #remember(uid: string, volumes: Volumes): void {
    this.#volumes.delete(uid);
    if (this.#volumes.size >= maxKnown) {
      for (const [one, known] of this.#volumes) if (!isValid(known, volumes.at)) this.#volumes.delete(one);
    }
    if (this.#volumes.size >= maxKnown) {
      const giving = oldestOfMost(this.#volumes);
      if (giving === undefined || giving.namespace === volumes.namespace) return;
      this.#volumes.delete(giving.uid);
    }
    this.#volumes.set(uid, volumes);
  }

  async #search(
    key: string,
    board: string,
    volumes: readonly PlacementRules[],
    site: SiteView,
  ): Promise<Obstacle | undefined> {
    if (this.#open === undefined || elapsed(this.#open.at, site.now) >= freshness) {
      this.#open = await site.inTurns(openBoards(site));
    }
    return await site.inTurns(this.#obstacle(key, board, { volumes, open: this.#open }, site));
  }

  /** Reads the pod from the cache, because a search may take long, and the pod may be large. */
  *#obstacle(
    key: string,
    board: string,
    { volumes, open }: { readonly volumes: readonly PlacementRules[]; readonly open: OpenBoards },
    site: SiteView,
  ): Steps<Obstacle | undefined> {
    const pod = site.lister(pods).get(key);
    if (pod === undefined || hasLongRules(pod)) return undefined;
    if (!this.#seesAll() && !areOfSite([pod.spec ?? {}, ...volumes], site)) return undefined;
    const { resources } = needsOf(pod);
    let found: Obstacle = "no board";
    for (const node of candidates(open, site)) {
      yield;
      if (node.metadata.name === board || !isOpen(node)) continue;
      if (!suits(node, pod, resources)) found = found === "volume" ? found : "placement";
      else if (volumes.every((rules) => isSelected(rules, node))) return undefined;
      else found = "volume";
    }
    return found;
  }
}

/** The pod that was read first in the namespace with the most pods. */
function oldestOfMost(
  known: ReadonlyMap<string, Volumes>,
): { readonly uid: string; readonly namespace: string } | undefined {
  let most: readonly (readonly [string, Volumes])[] = [];
  for (const ofOne of Map.groupBy(known, ([, { namespace }]) => namespace).values()) {
    if (ofOne.length > most.length) most = ofOne;
  }
  const [oldest] = most;
  return oldest && { uid: oldest[0], namespace: oldest[1].namespace };
}

/** The claims whose volumes are read. */
function claimedBy(pod: Pod | undefined) {
  const { uid = "", namespace = "" } = pod?.metadata ?? {};
  return { uid, namespace, claims: pod === undefined ? [] : claimsOf(pod).slice(0, maxClaims) };
}

/**
 * The volume that is bound to a claim. The volume must name the claim too, because a tenant may name any volume in its
 * claim.
 */
async function volumeOf(key: string, site: SiteView): Promise<PersistentVolume | undefined> {
  const claim = await unlessForbidden(site.fetch(persistentVolumeClaims, key));
  const name = claim?.spec?.volumeName;
  if (!name) return undefined;
  const volume = await unlessForbidden(site.fetch(persistentVolumes, name));
  return volume?.spec?.claimRef?.uid === claim.metadata.uid ? volume : undefined;
}

/** Whether new pods may start on the board. */
const isOpen = ({ status, spec }: Node): boolean =>
  conditionOf(status?.conditions, "Ready")?.status === "True" && spec?.unschedulable !== true;

function* openBoards(site: SiteView): Steps<OpenBoards> {
  const names: string[] = [];
  for (const node of site.lister(nodes).list()) {
    yield;
    if (!isOpen(node)) continue;
    if (names.length === maxNames) return { at: site.now, names, areAll: false };
    names.push(node.metadata.name);
  }
  return { at: site.now, names, areAll: true };
}

function* candidates({ names, areAll }: OpenBoards, site: SiteView): Generator<Node> {
  for (const name of names) {
    const node = site.lister(nodes).get(name);
    if (node) yield node;
  }
  if (!areAll) yield* site.lister(nodes).list();
}

const hasLongRules = ({ spec: { nodeSelector, affinity, tolerations } = { containers: [] } }: Pod): boolean =>
  JSON.stringify([nodeSelector, affinity, tolerations]).length > maxRulesLength;

/** Whether the board could run the pod if nothing else ran there. */
function suits(node: Node, pod: Pod, needs: ReadonlyMap<string, bigint>): boolean {
  const isTooLarge = [...needs].some(([name, amount]) => amount > 0n && amount > allocatable(node, name));
  return unschedulableReasons(pod, node).length === 0 && (node.status?.allocatable === undefined || !isTooLarge);
}

/** Whether some of the rules name the boards that they admit, and all of these are in the cache. */
const areOfSite = (all: readonly PlacementRules[], site: SiteView): boolean =>
  all.some((rules) => namedBoards(rules)?.every((name) => site.lister(nodes).get(name) !== undefined) === true);

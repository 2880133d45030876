import { conditionOf } from "../api/conditions.ts";
import type { Node, Pod } from "../api/core.ts";
import type { KubeObject } from "../api/meta.ts";
import { isFinished } from "../api/pods.ts";
import { boardLeaseKey, leases, nodes, pods, type Resource, resourceName } from "../api/resources.ts";
import { noExecuteTaints } from "../api/taints.ts";
import { type Clock, type Millis, sleep } from "../base/clock.ts";
import type { Cache, Caches } from "../loop/site-view.ts";
import { OverlaidCache } from "./overlaid-cache.ts";
import { type Pretence, type SignOfLife, withoutDeletion, withoutStatus } from "./pretence.ts";

/**
 * Maximum number of overlaid pods, because tenants may create any number of them. An entry takes about 2 KB. Nodes have no
 * limit, because the judge keeps a record of each anyway.
 */
const mostPods = 2000;
/** Interval between checks for boards that have given a sign of life; their kubelets take longer to report anything. */
const lifeCheck: Millis = 1000;

/**
 * The caches as shadowed controllers see them: Nodes and pods with their pretended writes, everything else as it is.
 * Only in memory, and only for one term.
 */
export class OverlaidSite implements Caches {
  readonly nodes: OverlaidCache<Node>;
  readonly pods: OverlaidCache<Pod>;
  readonly #clock: Clock;
  readonly #real: Caches;

  constructor(clock: Clock, real: Caches, most = mostPods) {
    this.#clock = clock;
    this.#real = real;
    this.nodes = new OverlaidCache(nodes, real.informer(nodes), Number.POSITIVE_INFINITY);
    this.pods = new OverlaidCache(pods, real.informer(pods), most);
  }

  informer<T extends KubeObject>(resource: Resource<T>): Cache<T> {
    return this.overlaid(resource) ?? this.#real.informer(resource);
  }

  /** The cache of a resource, if it can be overlaid. */
  overlaid<T extends KubeObject>(resource: Resource<T>): OverlaidCache<T> | undefined {
    const name = resourceName(resource);
    const found: unknown =
      name === resourceName(nodes) ? this.nodes : name === resourceName(pods) ? this.pods : undefined;
    // The cache that was found by a resource's name has that resource's objects.
    return found as OverlaidCache<T> | undefined;
  }

  /** Follows the real caches until the signal aborts, and then forgets everything that was pretended. */
  async run(signal: AbortSignal): Promise<void> {
    const ends = [this.nodes.follow(), this.pods.follow()];
    try {
      while (!signal.aborted) {
        await sleep(this.#clock, lifeCheck, signal);
        if (!signal.aborted) await this.#afterSignsOfLife();
      }
    } finally {
      for (const end of ends) end();
      this.nodes.clear();
      this.pods.clear();
    }
  }

  /** The last sign of life of a board in the caches. */
  signOf(board: string | undefined): SignOfLife {
    if (board === undefined) return { board, sign: "" };
    const lease = this.#real.informer(leases).lister.get(boardLeaseKey(board))?.metadata.resourceVersion;
    const ready = readyOf(this.nodes.real(board));
    return { board, sign: [lease, ready?.status, ready?.lastHeartbeatTime].join(" ") };
  }

  /**
   * The real kubelet of a board does not know what was pretended, so it does not undo it when it is back. So once a board
   * has given a sign of life since, the pretended status of its Node and its pods ends, as its kubelet would have
   * repaired both; and once its Node is Ready and without NoExecute taints, so do the pretended deletions of its pods
   * that live on. Pods are decoded only after a sign of life, because there may be many.
   */
  async #afterSignsOfLife(): Promise<void> {
    const signs = new Map<string, SignOfLife>();
    const heardOf = ({ lives: { board, sign } }: Pretence): SignOfLife | undefined => {
      if (board === undefined) return undefined;
      const now = signs.get(board) ?? this.signOf(board);
      signs.set(board, now);
      return now.sign === sign ? undefined : now;
    };
    for (const [key, { pretence }] of [...this.nodes.pretended()]) {
      const lives = heardOf(pretence);
      if (lives) await this.nodes.drop(key, (one) => since(lives, withoutStatus(one)));
    }
    for (const [key, { pretence }] of [...this.pods.pretended()]) {
      const lives = heardOf(pretence);
      if (lives?.board === undefined) continue;
      const pod = this.pods.real(key);
      const livesOn = pod !== undefined && !isFinished(pod) && this.#isBack(lives.board);
      await this.pods.drop(key, (one) => {
        const left = withoutStatus(one);
        return since(lives, left && livesOn ? withoutDeletion(left) : left);
      });
    }
  }

  #isBack(board: string): boolean {
    const node = this.nodes.lister.get(board);
    return node !== undefined && readyOf(node)?.status === "True" && noExecuteTaints(node).length === 0;
  }
}

const readyOf = (node: Node | undefined) => conditionOf(node?.status?.conditions, "Ready");

/** What is left of a pretence after a sign of life, so that only the next one is examined again. */
const since = (lives: SignOfLife, left: Pretence | undefined): Pretence | undefined => left && { ...left, lives };

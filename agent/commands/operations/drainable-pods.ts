import type { Pod } from "../../api/core.ts";
import { type KubeObject, keyOf, type OwnerReference } from "../../api/meta.ts";
import { controllerOf } from "../../api/owners.ts";
import { isFinished, isMirror, isTerminating } from "../../api/pods.ts";
import { daemonSets, pods } from "../../api/resources.ts";
import { isObjectName } from "../../api/shape-rules.ts";
import { alternating } from "../../base/alternating.ts";
import type { ListResult } from "../../client/kube-client.ts";
import type { OperationsDeps } from "./deps.ts";

const pageSize = 100;
const setPageSize = 500;
const maxReasons = 3;

/**
 * The parts of a pod that a drain remembers. Whole pods, which may be of any size, are never held in memory together.
 */
export interface DrainablePod {
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly isTerminating: boolean;
  /** No controller recreates the pod elsewhere, and it has not finished: it is evicted by force only. */
  readonly isAlone: boolean;
}

/** The pods of a board at one moment. */
export interface FoundPods {
  /** The namespaces take turns, so that none with thousands of pods delays the others. */
  readonly leaving: readonly DrainablePod[];
  /** Number of pods that stay. */
  readonly skipped: number;
  /** Number of pods that this agent cannot read, and so does not move. */
  readonly unreadable: number;
  /** What is wrong with the first of them. */
  readonly whyUnreadable: readonly string[];
}

/** Lists the pods that a drain moves off a board, as `kubectl drain` selects them. */
export class DrainablePods {
  readonly #board: string;
  readonly #client: OperationsDeps["client"];
  /** Whether a DaemonSet exists, by `idOf`: read once in a drain. */
  readonly #daemonSets = new Map<string, boolean>();

  constructor(board: string, { client }: Pick<OperationsDeps, "client">) {
    this.#board = board;
    this.#client = client;
  }

  /** Reads the pods from the API: a board that does not lead has no cache of them. */
  async look(signal: AbortSignal): Promise<FoundPods> {
    const leaving: DrainablePod[] = [];
    const claimed: Claimed[] = [];
    const whyUnreadable: string[] = [];
    let [skipped, unreadable] = [0, 0];
    const each = (pod: Pod): void => {
      const owner = controllerOf(pod);
      if (isMirror(pod)) skipped++;
      else if (owner?.kind !== "DaemonSet") leaving.push(leavingOf(pod, owner));
      else if (mayExist(owner)) claimed.push(claimedBy(owner, leavingOf(pod, undefined)));
      else leaving.push(leavingOf(pod, undefined));
    };
    for (let page: string | undefined = ""; page !== undefined; ) {
      const options = { fieldSelector: `spec.nodeName=${this.#board}`, limit: pageSize, continue: page };
      const answer: ListResult = await this.#client.list(pods, options, each, signal);
      unreadable += answer.rejectedItems;
      whyUnreadable.push(...answer.rejected.slice(0, maxReasons - whyUnreadable.length));
      page = answer.continue;
    }
    await this.#readDaemonSets(claimed, signal);
    for (const { pod, set } of claimed) {
      if (this.#daemonSets.get(set)) skipped++;
      else leaving.push(pod);
    }
    const inTurn = alternating(leaving, ({ namespace }) => [namespace]);
    return { leaving: inTurn, skipped, unreadable, whyUnreadable };
  }

  /**
   * Finds out which of the DaemonSets that pods name exist. A tenant can name any number; only an existing one
   * recreates its pod here. Lists those of a namespace instead of reading each, because each request waits for its turn.
   */
  async #readDaemonSets(claimed: readonly Claimed[], signal: AbortSignal): Promise<void> {
    const unknown = claimed.filter(({ set }) => !this.#daemonSets.has(set));
    for (const [namespace, named] of Map.groupBy(unknown, ({ pod }) => pod.namespace)) {
      const existing = new Set<string>();
      const note = ({ metadata: { name, uid } }: KubeObject): void => void existing.add(idOf(namespace, { name, uid }));
      for (let page: string | undefined = ""; page !== undefined; ) {
        const options = { namespace, metadataOnly: true, limit: setPageSize, continue: page };
        const answer: ListResult = await this.#client.list(daemonSets, options, note, signal);
        for (const { identity } of answer.unusable ?? []) note(identity);
        page = answer.continue;
      }
      for (const { set } of named) this.#daemonSets.set(set, existing.has(set));
    }
  }
}

interface Claimed {
  readonly pod: DrainablePod;
  /** `idOf` the DaemonSet that the pod names as its owner. */
  readonly set: string;
}

const claimedBy = (owner: OwnerReference, pod: DrainablePod): Claimed => ({ pod, set: idOf(pod.namespace, owner) });

const idOf = (namespace: string, { name, uid }: Pick<OwnerReference, "name" | "uid">): string =>
  `${namespace}/${name}/${uid}`;

const mayExist = ({ apiVersion, name }: OwnerReference): boolean =>
  apiVersion.startsWith("apps/") && isObjectName(name);

const leavingOf = (pod: Pod, owner: OwnerReference | undefined): DrainablePod => {
  const { name, uid, namespace = "default" } = pod.metadata;
  const isAlone = owner === undefined && !isFinished(pod);
  return { key: keyOf(pod), namespace, name, uid, isTerminating: isTerminating(pod), isAlone };
};
